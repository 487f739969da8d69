//! Warnings: what is legal and surely not meant.
//!
//! In: a function with its plan. Out: a [`Warning`] for each finding, written into the function where it was found.
//!
//! Stable Rust lets no macro warn. What it has is `#[deprecated]`: the use of a deprecated item, spanned as the author's
//! tokens, is a warning with a text of ours at the author's place. Its lint is `deprecated`, so `#[allow(deprecated)]` on the
//! statement, the function or the crate turns it off. A stream that is declared and never used needs none of this: it is a
//! variable, and rustc says so (`unused_variables`).

mod limits;
mod streams;

#[cfg(test)]
mod tests;

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::{Block, Item, ItemFn, Stmt};

use crate::access::Seen;
use crate::args::Args;
use crate::overlap::overlaps;
use crate::plan::Plan;

/// One finding.
#[derive(Debug)]
pub(crate) struct Warning {
    /// What it is called: rustc names it as the deprecated item.
    name: &'static str,
    text: String,
    span: Span,
    /// The block it is about; `None` for the function.
    block: Option<usize>,
}

/// Looks for all of them.
pub(crate) fn find(args: &Args, item: &ItemFn, seen: &Seen, plan: &Plan) -> Vec<Warning> {
    let mut found = Vec::new();
    if seen.blocks.is_empty() {
        let text = "this `#[multicore]` function has no `stream!` block: all of it runs on the current stream\n\
            help: leave `#[multicore]` out, or put what is to run on a stream into `stream!(s1, { .. })`";
        found.push(Warning {
            name: "no_stream_block",
            text: text.to_owned(),
            span: item.sig.ident.span(),
            block: None,
        });
    }
    limits::unreachable(args, seen, &mut found);
    // Where every block runs on `main`, nothing overlaps, and that is meant.
    if !args.serial && seen.blocks.len() > 1 {
        let wanted = args.device.is_stated();
        let groups = if wanted { seen.blocks.len() } else { 0 };
        let group_of = |node: crate::model::NodeId| seen.nodes[node.index()].block.filter(|_| wanted);
        let overlaps = overlaps(&seen.model, plan, groups, &group_of);
        streams::without_overlap(seen, plan, &overlaps, &mut found);
        limits::together(args, seen, &overlaps, &mut found);
    }
    found
}

/// Writes them into the function, each at the head of what it is about, so that an `#[allow(..)]` around that holds for it.
pub(crate) fn put(warnings: Vec<Warning>, seen: &mut Seen, item: &mut ItemFn) {
    // Each goes before those that are there, so the last goes first.
    for warning in warnings.into_iter().rev() {
        let tokens = warning.tokens();
        let block: Option<&mut Block> = match warning.block {
            Some(block) => seen.blocks[block].as_mut().map(|block| &mut block.block),
            None => Some(&mut item.block),
        };
        // As an item, because items are no part of what the plan is about.
        block.into_iter().for_each(|block| block.stmts.insert(0, Stmt::Item(Item::Verbatim(tokens.clone()))));
    }
}

impl Warning {
    fn tokens(&self) -> TokenStream {
        let (text, name) = (&self.text, Ident::new(self.name, self.span));
        quote! {
            {
                #[deprecated(note = #text)]
                fn #name() {}
                let _ = #name;
            }
        }
    }
}

//! The blocks of a function, each parsed once.
//!
//! In: a function with canonical `stream!` calls. Out: its blocks in source order; in the function each call now holds
//! the number of its block and nothing else, and so do the calls inside of blocks. Functions inside that are
//! `#[multicore]` themselves keep theirs.

use proc_macro2::{Literal, TokenTree};
use syn::visit_mut::{self, VisitMut};
use syn::{Attribute, ImplItemFn, ItemFn, Macro, TraitItemFn};

use crate::check::is;
use crate::header::StreamBlock;

/// What the calls of `stream!` hold; what is wrong with one is kept until its place is checked.
#[derive(Debug, Default)]
pub(crate) struct Blocks(Vec<Option<syn::Result<StreamBlock>>>);

impl Blocks {
    /// Takes the blocks out of a function.
    pub(crate) fn read(function: &mut ItemFn) -> Blocks {
        let mut blocks = Blocks::default();
        blocks.visit_block_mut(&mut function.block);
        blocks
    }

    /// The block of a call, if the call is one of `stream!` and its block was not taken.
    pub(crate) fn get(&self, mac: &Macro) -> Option<&syn::Result<StreamBlock>> {
        self.0.get(number(mac)?)?.as_ref()
    }

    /// Takes the block of a call.
    pub(crate) fn take(&mut self, mac: &Macro) -> Option<StreamBlock> {
        self.0.get_mut(number(mac)?)?.take()?.ok()
    }

    fn unless_multicore(&mut self, attributes: &[Attribute], visit: impl FnOnce(&mut Self)) {
        if !attributes.iter().any(|attribute| is(attribute, "multicore")) {
            visit(self);
        }
    }
}

/// The number that a call of `stream!` holds.
fn number(mac: &Macro) -> Option<usize> {
    match mac.tokens.clone().into_iter().next()? {
        TokenTree::Literal(number) if is_stream(mac) => number.to_string().parse().ok(),
        _ => None,
    }
}

fn is_stream(mac: &Macro) -> bool {
    mac.path.segments.last().is_some_and(|last| last.ident == "stream")
}

impl VisitMut for Blocks {
    fn visit_macro_mut(&mut self, mac: &mut Macro) {
        let Some(mut block) = StreamBlock::from_macro(mac) else { return };
        let number = self.0.len();
        self.0.push(None);
        mac.tokens = TokenTree::from(Literal::usize_unsuffixed(number)).into();
        if let Ok(block) = &mut block {
            self.visit_block_mut(&mut block.block);
        }
        self.0[number] = Some(block);
    }

    fn visit_item_fn_mut(&mut self, item: &mut ItemFn) {
        let attrs = std::mem::take(&mut item.attrs);
        self.unless_multicore(&attrs, |blocks| visit_mut::visit_item_fn_mut(blocks, item));
        item.attrs = attrs;
    }

    fn visit_impl_item_fn_mut(&mut self, item: &mut ImplItemFn) {
        let attrs = std::mem::take(&mut item.attrs);
        self.unless_multicore(&attrs, |blocks| visit_mut::visit_impl_item_fn_mut(blocks, item));
        item.attrs = attrs;
    }

    fn visit_trait_item_fn_mut(&mut self, item: &mut TraitItemFn) {
        let attrs = std::mem::take(&mut item.attrs);
        self.unless_multicore(&attrs, |blocks| visit_mut::visit_trait_item_fn_mut(blocks, item));
        item.attrs = attrs;
    }
}

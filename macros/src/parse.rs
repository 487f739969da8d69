//! From the tokens of an item to a checked function.
//!
//! In: what the attribute was given and what it stands on, in any accepted spelling. Out: a [`Function`] with
//! its blocks, each read once; or everything that is wrong with it.

use proc_macro2::{TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{Attribute, Ident, ItemFn, LitStr, Visibility};

use crate::args::Args;
pub(crate) use crate::blocks::Blocks;
use crate::check;
use crate::diag::Diagnostics;
pub(crate) use crate::header::StreamBlock;
use crate::normalise::{Syntax, normalise};

/// A function to be expanded.
#[derive(Debug)]
pub(crate) struct Function {
    /// What the attribute asks for.
    pub(crate) args: Args,
    /// The function; each `stream!` call in it holds the number of its block.
    pub(crate) item: ItemFn,
    /// The blocks by these numbers.
    pub(crate) blocks: Blocks,
}

/// Reads and checks a function.
pub(crate) fn parse(args: TokenStream, item: TokenStream) -> Result<Function, Diagnostics> {
    let mut diagnostics = Diagnostics::default();
    let args = Args::parse(args, &mut diagnostics);
    let mut spelling = Diagnostics::default();
    match syn::parse2::<ItemFn>(normalise(item.clone(), Syntax::Attribute, &mut spelling)) {
        Ok(mut item) => {
            diagnostics.append(spelling);
            let blocks = Blocks::read(&mut item);
            check::check(&args, &item, &blocks, &mut diagnostics);
            diagnostics.into_result(Function { args, item, blocks })
        }
        Err(error) => {
            if let Err(error) = is_a_function.parse2(item) {
                diagnostics.push(error);
                return Err(diagnostics);
            }
            // After an error of normalisation this one says the same less well.
            if spelling.is_empty() {
                spelling.push(error);
            }
            diagnostics.append(spelling);
            Err(diagnostics)
        }
    }
}

/// Looks no further than it takes to say that the item is something else; what is wrong inside a function is found
/// later.
fn is_a_function(input: ParseStream<'_>) -> syn::Result<()> {
    const NOT: &str = "`#[multicore]` can only be used on functions";
    input.call(Attribute::parse_outer)?;
    input.parse::<Visibility>()?;
    let rest = input.fork();
    let first = input.call(Ident::parse_any)?;
    let mut keyword = first.clone();
    while keyword != "fn" {
        match keyword.to_string().as_str() {
            "const" | "async" | "unsafe" | "safe" | "extern" | "default" => {}
            "impl" | "trait" => {
                return Err(syn::Error::new(first.span(), format!("{NOT}; put it on each method")));
            }
            _ => return Err(syn::Error::new(first.span(), NOT)),
        }
        input.parse::<Option<LitStr>>()?;
        keyword = input.call(Ident::parse_any).map_err(|_| syn::Error::new(first.span(), NOT))?;
    }
    input.parse::<TokenStream>()?;
    let signature: Vec<TokenTree> = rest.parse::<TokenStream>()?.into_iter().collect();
    match signature.last() {
        Some(TokenTree::Punct(end)) if end.as_char() == ';' => {
            let signature: TokenStream = signature.into_iter().collect();
            Err(syn::Error::new_spanned(
                signature,
                "`#[multicore]` needs a function body; put it on the implementations",
            ))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;

//! Where the plan of a function is kept, so that `plan_of!` finds it if it was asked for.
//!
//! A macro on a function does not know what the function stands in. Beside a free function a type of the same name can
//! stand: `use`, renames and visibility then concern both. Beside a method only a constant can. Beside a method of a trait
//! nothing can; there, and where nobody asked, the plan is kept inside of the function.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::visit::{self, Visit};
use syn::{Item, ItemFn, Macro, Path, Visibility};

use super::writer::own;

/// A plan in its place.
#[derive(Debug)]
pub(crate) struct Published {
    /// What stands beside the function.
    pub(crate) beside: TokenStream,
    /// What the function begins with.
    pub(crate) inside: TokenStream,
    /// The plan as the function names it.
    pub(crate) plan: TokenStream,
}

/// The constant beside a method.
pub(crate) fn constant(method: &Ident) -> Ident {
    format_ident!("__plan_of_{}", method, span = method.span())
}

/// Puts `plan` where it belongs; `public` if `plan_of!` is to find it.
pub(crate) fn publish(item: &ItemFn, krate: &Path, public: bool, plan: &TokenStream) -> Published {
    let (vis, name, table) = (&item.vis, &item.sig.ident, own("__PLAN"));
    let kept = quote!(static #table: __multicore::Plan = #plan;);
    let kept_beside = quote!({
        use #krate::__private as __multicore;
        #kept
        &#table
    });
    let is_method = is_method(item);
    match vis {
        _ if public && !is_method => Published {
            beside: quote! {
                #[doc(hidden)]
                #[allow(dead_code, nonstandard_style, unreachable_pub)]
                #vis enum #name {}
                impl #krate::plan::Planned for #name {
                    const PLAN: &'static #krate::Plan = #kept_beside;
                }
            },
            inside: TokenStream::new(),
            plan: quote!(<#name as #krate::plan::Planned>::PLAN),
        },
        // Methods of traits have no visibility: with one, it stands in an `impl` block of a type.
        Visibility::Public(_) | Visibility::Restricted(_) if public => {
            let constant = constant(name);
            Published {
                beside: quote! {
                    #[doc(hidden)]
                    #[allow(dead_code, nonstandard_style, unreachable_pub)]
                    #vis const #constant: &'static #krate::Plan = #kept_beside;
                },
                inside: TokenStream::new(),
                plan: quote!(Self::#constant),
            }
        }
        _ => Published { beside: TokenStream::new(), inside: kept, plan: quote!(&#table) },
    }
}

/// Does the function stand in an `impl` block or a trait, as far as it shows?
fn is_method(item: &ItemFn) -> bool {
    let mut mentions = MentionsSelf(item.sig.receiver().is_some());
    mentions.visit_signature(&item.sig);
    mentions.visit_block(&item.block);
    mentions.0
}

struct MentionsSelf(bool);

impl<'ast> Visit<'ast> for MentionsSelf {
    fn visit_path(&mut self, path: &'ast Path) {
        self.0 |= path.segments.first().is_some_and(|first| first.ident == "Self");
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        self.0 |= has_self(call.tokens.clone());
    }

    /// An item has a `Self` of its own.
    fn visit_item(&mut self, _: &'ast Item) {}
}

fn has_self(tokens: impl ToTokens) -> bool {
    tokens.to_token_stream().into_iter().any(|token| match token {
        TokenTree::Ident(word) => word == "Self",
        TokenTree::Group(group) => has_self(group.stream()),
        _ => false,
    })
}

//! The function with its plan in it.
//!
//! In: a checked function. Out: the same function, signature and attributes untouched, whose body enters a region, and in
//! which each block is a plain Rust block with a guard. No closures and no types: `?`, `return`, `break` mean what they
//! meant. `static __PLAN` lists every record and wait with its variable and lines; `explain` prints it into the
//! documentation, and puts it where `plan_of!` finds it.

mod explain;
pub(crate) mod place;
pub(crate) mod publish;
pub(crate) mod table;
pub(crate) mod text;
pub(crate) mod writer;

#[cfg(test)]
mod tests;

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use crate::access::{self, Seen};
use crate::analyse::analyse;
use crate::diag::Diagnostics;
use crate::parse::Function;
use crate::plan::Plan;
use crate::warn;
use publish::{Published, publish};
use table::Table;
use writer::{Writer, own};

/// Expands a function.
pub(crate) fn expand(function: Function) -> Result<TokenStream, Diagnostics> {
    let Function { args, mut item, blocks } = function;
    let mut diagnostics = Diagnostics::default();
    let mut seen = access::see(&args.streams, &mut item, blocks, &mut diagnostics);
    let plan = analyse(&seen.model);
    check_after(&seen, &plan, &mut diagnostics);
    if !diagnostics.is_empty() {
        return Err(diagnostics);
    }
    let warnings = warn::find(&args, &item, &seen, &plan);
    warn::put(warnings, &mut seen, &mut item);

    // An error type that ours does not convert into is reported at the return type.
    let error = match &item.sig.output {
        syn::ReturnType::Type(_, output) => Span::mixed_site().located_at(output.span()),
        syn::ReturnType::Default => Span::mixed_site(),
    };
    let mut writer = Writer::new(&plan, error);
    let seen = access::write(&args.streams, &mut item, seen, &mut writer);
    let krate = &args.krate;
    let (region, on) = (own("__mc"), own("__on"));
    let table = Table::new(&item, args.serial, &seen, &plan, &writer);
    let Published { beside, inside, plan } = publish(&item, krate, args.explain, &table.tokens());
    let enter = quote_spanned!(error=> let #region = __multicore::Region::enter(#plan)?;);
    let streams = args.streams.iter().map(|stream| {
        let name = stream.to_string();
        let region = syn::Ident::new("__mc", error);
        quote_spanned!(error=> let #stream = #region.named(#name)?;)
    });
    let main = writer.uses_main.then(|| quote!(let #on = #region.main();));
    let (head, body) = (&writer.head, &item.block.stmts);
    let body = quote!({
        use #krate::__private as __multicore;
        #inside
        #enter
        #main
        #(#streams)*
        #(#head)*
        #(#body)*
    });
    let docs = args.explain.then(|| table.docs());
    let syn::ItemFn { attrs, vis, sig, .. } = &item;
    Ok(quote!(#(#attrs)* #docs #vis #sig #body #beside))
}

/// `after(x)` must have something to wait for.
fn check_after(seen: &Seen, plan: &Plan, diagnostics: &mut Diagnostics) {
    for (node, place) in &seen.after {
        let Some((_, var)) = plan.pointless.iter().find(|(pointless, _)| pointless == node) else { continue };
        let name = text::of(place);
        match access::written_after(seen, *node, *var) {
            Some(later) => {
                let text = format!(
                    "`{name}` is produced later\nhelp: put this block behind that one, or leave `after({name})` out"
                );
                diagnostics.error_at_both(place.span(), later, text);
            }
            None => diagnostics.error_on(
                place,
                format!(
                    "nothing in this function produces `{name}` before this block\nhelp: leave `after({name})` out"
                ),
            ),
        }
    }
}

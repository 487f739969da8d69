//! The function with its plan in it.
//!
//! In: a checked function. Out: the same function, signature and attributes untouched, whose body enters a region, and in
//! which each block is a plain Rust block with a guard. No closures and no types: `?`, `return`, `break` mean what they
//! meant. `static __PLAN` lists every record and wait with its variable and lines.

pub(crate) mod place;
pub(crate) mod text;
pub(crate) mod writer;

#[cfg(test)]
mod tests;

use proc_macro2::{Literal, Span, TokenStream};
use quote::quote;
use syn::spanned::Spanned;

use crate::access::{self, Seen};
use crate::analyse::analyse;
use crate::diag::Diagnostics;
use crate::parse::Function;
use crate::plan::Plan;
use crate::warn;
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

    let mut writer = Writer::new(&plan);
    let seen = access::write(&args.streams, &mut item, seen, &mut writer);
    let krate = &args.krate;
    let (region, on, table) = (own("__mc"), own("__on"), own("__PLAN"));
    let tables = tables(&seen, &plan, &writer);
    let (name, line, serial) = (item.sig.ident.to_string(), line_of(item.sig.ident.span()), args.serial);
    let streams = args.streams.iter().map(|stream| {
        let name = stream.to_string();
        quote!(let #stream = #region.named(#name)?;)
    });
    let main = writer.uses_main.then(|| quote!(let #on = #region.main();));
    let (head, body) = (&writer.head, &item.block.stmts);
    let body = quote!({
        use #krate::__private as __multicore;
        static #table: __multicore::Plan = __multicore::Plan {
            function: #name,
            file: ::core::file!(),
            line: #line,
            serial: #serial,
            #tables
        };
        let #region = __multicore::Region::enter(&#table)?;
        #main
        #(#streams)*
        #(#head)*
        #(#body)*
    });
    let syn::ItemFn { attrs, vis, sig, .. } = &item;
    Ok(quote!(#(#attrs)* #vis #sig #body))
}

/// `after(x)` must have something to wait for.
fn check_after(seen: &Seen, plan: &Plan, diagnostics: &mut Diagnostics) {
    for (node, place) in &seen.after {
        let Some((_, var)) = plan.pointless.iter().find(|(pointless, _)| pointless == node) else { continue };
        let name = text::of(place);
        match access::written_after(seen, *node, *var) {
            Some(later) => diagnostics.error_at_both(place.span(), later, format!("`{name}` is produced later")),
            None => diagnostics.error_on(
                place,
                format!(
                    "nothing in this function produces `{name}` before this block\nhelp: leave `after({name})` out"
                ),
            ),
        }
    }
}

/// The tables of the plan.
fn tables(seen: &Seen, plan: &Plan, writer: &Writer<'_>) -> TokenStream {
    let stream = |site: &access::Site| seen.model.streams[site.stream.index()].text.as_str();
    let blocks = seen.blocks.iter().flatten().map(|block| {
        let (stream, line) = (text::of(&block.stream), line_of(block.span));
        quote!(__multicore::PlanBlock { stream: #stream, line: #line })
    });
    let records = plan.records.iter().map(|(point, variables)| {
        let site = &seen.points[point.index()];
        let (stream, line) = (stream(site), line_of(site.span));
        let variables = variables.keys().map(|&var| seen.scopes.facts(var).name.as_str());
        quote!(__multicore::PlanRecord { stream: #stream, line: #line, variables: &[#(#variables),*] })
    });
    let waits = plan.waits.iter().flat_map(|(node, waits)| waits.iter().map(move |wait| (node, wait))).map(|(node, wait)| {
        let site = &seen.nodes[node.index()];
        let (stream, line) = (stream(site), line_of(site.span));
        let variable = seen.scopes.facts(wait.var).name.as_str();
        let records = wait.points.iter().map(|point| Literal::u32_unsuffixed(writer.records[point]));
        quote!(__multicore::PlanWait { stream: #stream, line: #line, variable: #variable, records: &[#(#records),*] })
    });
    quote!(blocks: &[#(#blocks),*], records: &[#(#records),*], waits: &[#(#waits),*],)
}

fn line_of(span: Span) -> Literal {
    Literal::usize_unsuffixed(span.start().line)
}

//! The `#[multicore]` attribute: blocks on streams in, the fewest record and wait calls out.
//!
//! ```ignore
//! use multicore::prelude::*;
//!
//! #[multicore(streams(compute, comm))]
//! fn moe_slice(x: &Tensor, expert: &Expert, ep: &Communicator) -> Result<Tensor> {
//!     let routed = stream!(compute, cores(cube = 3, vector = 8), { gate(x, expert)? });
//!     let recv   = stream!(comm,    cores(vector = 8),           { ep.all_to_all(&routed)? });   // waits for `routed`
//!     let shared = stream!(compute, cores(cube = 20),            { ffn(x, &expert.shared)? });   // runs beside `comm`
//!     stream!(compute, cores(cube = 20, vector = 40), { ffn(&recv, &expert.routed)?.add(&shared) })
//! }
//! ```
//!
//! Five passes, each a function over `proc_macro2` tokens or plain data: `normalise` rewrites every spelling of a block
//! to one, `parse` reads and checks the function, `model` says what touches what, `analyse` finds the records and
//! waits, `emit` writes the code.

mod access;
mod analyse;
mod args;
mod blocks;
mod check;
mod cores;
mod diag;
mod emit;
mod fallback;
mod first;
mod header;
mod model;
mod normalise;
mod overlap;
mod parse;
mod plan;
mod plan_of;
mod resolve;
#[cfg(test)]
mod testing;
mod warn;
mod wrapper;

use proc_macro2::TokenStream;

/// Runs the `stream!` blocks of a function on their streams, ordered by the data they use.
///
/// The result is the one that the blocks give when they run one after another in source order.
///
/// ```text
/// #[multicore( streams(a, b, ..) , device(cube = 24, vector = 48) , explain , serial , crate = path )]   // all optional
/// fn f(..) -> Result<..> { .. }
///
/// stream!( STREAM [, cores(cube = EXPR, vector = EXPR)] [, after(x, ..)] [, reads(x, ..)] [, writes(x, ..)] , { .. } )
/// ```
///
/// * `STREAM` is any expression that gives a stream: a parameter, a local, `self.comm`, `&streams[i % 4]`. `streams(a,
///   b)` makes variables out of the device's named streams; `main` is the stream that was current when the function was
///   entered.
/// * The block is an expression, and its value the value of `stream!`. Code outside every block runs on `main`.
/// * `cores` limits what the block may use; `after(x)` orders it after what produced `x` without using it; `reads` and
///   `writes` state uses that the types do not show.
/// * `device` states the cores of the device that the function is written for: a literal limit above them is an error, and
///   blocks that may run together and ask for more get a warning. It changes nothing at run time.
/// * `explain` adds the plan to the documentation of the function, `serial` runs every block on `main`, `crate` says
///   where the runtime is.
///
/// `#[stream(s1, ..)] { .. }` and `stream!(s1, .. < .. >)` are accepted as well.
///
/// Warnings (a stream that never overlaps another, a limit that no launch can have, a function without blocks) are shown as
/// uses of something deprecated, the only kind that Rust offers to macros; `#[allow(deprecated)]` on the statement, the
/// function or the crate turns them off. `docs/messages.md` lists every message.
#[proc_macro_attribute]
pub fn multicore(args: proc_macro::TokenStream, item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    expand(args.into(), item.into()).into()
}

/// Functions whose blocks may also be written `stream!(s1, cores(cube = 3, vector = 8)) < .. >`.
///
/// ```text
/// multicore_fn! {
///     #[multicore(streams(s1))]
///     fn f(x: &Tensor) -> Result<Tensor> {
///         let y = stream!(s1, cores(cube = 3, vector = 8)) < x.add(x)? >;
///         Ok(y)
///     }
/// }
/// ```
///
/// Without arguments the `#[multicore]` may be left out. A `>` that could be a comparison as well is an error: end the
/// block with `>;`, or put the comparison in parentheses. rustfmt does not format what stands in a macro.
#[proc_macro]
pub fn multicore_fn(items: proc_macro::TokenStream) -> proc_macro::TokenStream {
    wrapper::expand(items.into()).into()
}

/// What `multicore::plan_of!` calls, which says where the runtime is.
#[doc(hidden)]
#[proc_macro]
pub fn plan_of(path: proc_macro::TokenStream) -> proc_macro::TokenStream {
    plan_of::expand(path.into()).into()
}

fn expand(args: TokenStream, item: TokenStream) -> TokenStream {
    parse::parse(args.clone(), item.clone()).and_then(emit::expand).unwrap_or_else(|errors| {
        let mut output = errors.into_compile_errors();
        output.extend(fallback::fallback(args, item));
        output
    })
}

//! The plan of a `#[multicore]` function: its blocks, and every record and wait with its variable and lines.
//!
//! In: what `#[multicore]` writes into a function. Out: the same as text, Markdown, Mermaid, DOT and JSON. A plan is plain
//! data that is there before the function is called: see [`plan_of!`](crate::plan_of) and [`Plan::of_call`].

mod dot;
mod json;
mod markdown;
mod mermaid;
mod text;

use crate::current::with_context;

/// The plan of a `#[multicore]` function, made at compile time.
///
/// Besides the waits listed, the first work on every stream comes after what `main`, the stream that was current at the
/// call, held then, and `main` goes on after all that the function launched.
///
/// ```
/// use multicore::{plan_of, prelude::*};
///
/// #[multicore(explain, streams(matrix, elementwise))]
/// fn gated(a: &Tensor, x: &Tensor) -> Result<Tensor> {
///     let product = stream!(matrix, { a.matmul(a)? });
///     let gate = stream!(elementwise, { x.silu()? });
///     stream!(matrix, { product.mul(&gate) })
/// }
///
/// let plan = plan_of!(gated);
/// assert_eq!((plan.blocks.len(), plan.waits.len()), (3, 1));
/// assert_eq!((plan.waits[0].stream, plan.waits[0].variable), ("matrix", "gate"));
/// assert_eq!(plan.records_of(&plan.waits[0]).next().map(|record| record.stream), Some("elementwise"));
/// println!("{plan}");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Plan {
    /// The function's name.
    pub function: &'static str,
    /// The file it is in.
    pub file: &'static str,
    /// The line of its name.
    pub line: u32,
    /// Every block runs on `main`.
    pub serial: bool,
    /// The `stream!` blocks in source order.
    pub blocks: &'static [PlanBlock],
    /// Where events are recorded.
    pub records: &'static [PlanRecord],
    /// Where they are waited for.
    pub waits: &'static [PlanWait],
}

/// A `stream!` block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct PlanBlock {
    /// The stream as it is written in the source; `main` for the stream that was current at entry.
    pub stream: &'static str,
    /// The line of the block.
    pub line: u32,
    /// Its core limit as it is written in the source: `cube = 3, vector = 8`. Empty without one.
    pub cores: &'static str,
    /// The block that it stands in.
    pub outer: Option<u32>,
}

impl PlanBlock {
    /// A block without a limit that stands in no other.
    pub const fn new(stream: &'static str, line: u32) -> PlanBlock {
        PlanBlock { stream, line, cores: "", outer: None }
    }

    /// The same with a limit.
    pub const fn cores(self, cores: &'static str) -> PlanBlock {
        PlanBlock { cores, ..self }
    }

    /// The same inside the block of number `outer`.
    pub const fn inside(self, outer: u32) -> PlanBlock {
        PlanBlock { outer: Some(outer), ..self }
    }
}

/// An event: recorded right after the statement that needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct PlanRecord {
    /// The innermost block it is in; `None` outside of all blocks.
    pub block: Option<u32>,
    /// The stream as it is written in the source; `main` outside of all blocks.
    pub stream: &'static str,
    /// The line of the statement.
    pub line: u32,
    /// The variables that the event is for.
    pub variables: &'static [&'static str],
}

impl PlanRecord {
    /// A record outside of all blocks.
    pub const fn new(stream: &'static str, line: u32, variables: &'static [&'static str]) -> PlanRecord {
        PlanRecord { block: None, stream, line, variables }
    }

    /// The same in the block of number `block`.
    pub const fn inside(self, block: u32) -> PlanRecord {
        PlanRecord { block: Some(block), ..self }
    }
}

/// A wait: made when the statement launches something that touches the variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct PlanWait {
    /// The innermost block it is in; `None` outside of all blocks.
    pub block: Option<u32>,
    /// The stream that waits, as it is written in the source; `main` outside of all blocks.
    pub stream: &'static str,
    /// The line of the statement.
    pub line: u32,
    /// The variable it is for.
    pub variable: &'static str,
    /// The records it may come after, as indices.
    pub records: &'static [u32],
}

impl PlanWait {
    /// A wait outside of all blocks.
    pub const fn new(stream: &'static str, line: u32, variable: &'static str, records: &'static [u32]) -> PlanWait {
        PlanWait { block: None, stream, line, variable, records }
    }

    /// The same in the block of number `block`.
    pub const fn inside(self, block: u32) -> PlanWait {
        PlanWait { block: Some(block), ..self }
    }
}

impl Plan {
    /// The records that a wait may come after.
    pub fn records_of(&self, wait: &PlanWait) -> impl Iterator<Item = &'static PlanRecord> {
        let records = self.records;
        wait.records.iter().filter_map(move |&record| records.get(record as usize))
    }

    /// The streams by their first appearance: those of blocks, then those of records and waits outside of blocks.
    pub fn streams(&self) -> Vec<&'static str> {
        let blocks = self.blocks.iter().map(|block| block.stream);
        let sites = self.records.iter().map(|record| record.stream).chain(self.waits.iter().map(|wait| wait.stream));
        let mut streams = Vec::new();
        for stream in blocks.chain(sites) {
            if !streams.contains(&stream) {
                streams.push(stream);
            }
        }
        streams
    }

    /// The plan of the `#[multicore]` function that `call` calls first. That function does nothing but say so: it returns
    /// [`Error::Planned`](crate::Error::Planned) at its very start, and so do others that the call meets afterwards. `None`
    /// if the call meets none; what it does besides, it does.
    ///
    /// For functions that [`plan_of!`](crate::plan_of) cannot name: methods of traits, or without `explain`.
    ///
    /// ```
    /// use multicore::{Plan, prelude::*};
    ///
    /// trait Module {
    ///     fn forward(&self, x: &Tensor) -> Result<Tensor>;
    /// }
    ///
    /// struct Twice(Stream);
    ///
    /// impl Module for Twice {
    ///     #[multicore]
    ///     fn forward(&self, x: &Tensor) -> Result<Tensor> {
    ///         stream!(&self.0, { x.add(x) })
    ///     }
    /// }
    ///
    /// let module: &dyn Module = &Twice(Stream::current()?);
    /// let x = Tensor::from_slice(&[1.0f32], &[1])?;
    /// let plan = Plan::of_call(|| module.forward(&x)).expect("it is `#[multicore]`");
    /// assert_eq!(plan.blocks[0].stream, "&self.0");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn of_call<R>(call: impl FnOnce() -> R) -> Option<&'static Plan> {
        /// The question around this one, which comes back even if `call` panics.
        struct Outer(Option<Asked>);
        impl Drop for Outer {
            fn drop(&mut self) {
                let outer = self.0.take();
                with_context(|context| context.asked = outer);
            }
        }
        let _outer = Outer(with_context(|context| context.asked.replace(Asked(None))));
        drop(call());
        with_context(|context| context.asked.take()).and_then(|asked| asked.0)
    }
}

/// The thread asks for a plan; what the first function answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked(Option<&'static Plan>);

impl Asked {
    /// A function was called.
    pub(crate) fn answer(&mut self, plan: &'static Plan) {
        self.0.get_or_insert(plan);
    }
}

/// Functions that `plan_of!` can name.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "this function has no plan to show",
    label = "not marked `#[multicore(explain)]`",
    note = "write `#[multicore(explain)]` on the function",
    note = "`Plan::of_call(|| f(..))` gives the plan of any `#[multicore]` function"
)]
pub trait Planned {
    /// The plan.
    const PLAN: &'static Plan;
}

/// What `plan_of!` finds where a method has a plan.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "this method has no plan to show",
    label = "not marked `#[multicore(explain)]`, or private",
    note = "write `#[multicore(explain)]` on the method, and give it a visibility: `pub(crate) fn` will do",
    note = "`Plan::of_call(|| x.f(..))` gives the plan of any `#[multicore]` method, those of traits too"
)]
pub trait MethodPlan {
    /// The plan.
    fn plan(self) -> &'static Plan;
}

impl MethodPlan for &'static Plan {
    fn plan(self) -> &'static Plan {
        self
    }
}

/// The plan that a method has.
#[doc(hidden)]
pub fn of_method(found: impl MethodPlan) -> &'static Plan {
    found.plan()
}

/// What `plan_of!` finds for a function without a plan: a type that is hidden by the function's own if there is one.
#[doc(hidden)]
pub mod unexplained {
    /// A function without a plan.
    #[allow(non_camel_case_types, reason = "it stands for a function")]
    #[derive(Clone, Copy, Debug)]
    pub enum function {}

    /// A method without a plan.
    #[derive(Clone, Copy, Debug)]
    pub struct Method;
}

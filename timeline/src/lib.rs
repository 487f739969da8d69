//! Operator profiles of devices with cube and vector cores, in the files that CANN's profiler writes.
//!
//! A [`Record`] is one operator that ran: what it was, where, when, on how many cores. [`kernel_details`] writes records
//! as a `kernel_details.csv` that the field's own tools open. A [`Capture`] is a whole run, in rows of numbers: made from
//! records, or [read](read()) from a file or a folder that a profiler left. [`analysis`] says what overlapped in it.
//!
//! Times are whole nanoseconds. They are formatted as microseconds by integer arithmetic, because absolute start times
//! of real profiles (about 1.8e15 us) are beyond what an `f64` resolves.

pub mod analysis;
mod arrows;
pub mod capture;
pub mod cores;
mod error;
pub mod gantt;
pub mod kernel_details;
mod lanes;
mod marks;
pub mod read;
mod record;
mod run;
mod strings;
mod sync;
pub mod trace;

pub use capture::Capture;
pub use error::{Error, ErrorKind, Result};
pub use marks::{Mark, MarkKind};
pub use read::{Options, read};
pub use record::{Core, Operand, Record};
pub use run::write_folder;
pub use sync::{Origin, Site, Sync, SyncKind, Via};

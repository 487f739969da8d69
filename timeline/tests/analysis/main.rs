//! The analysis: definitions, real figures, traps, and the reports of users.

mod cleaning;
mod published;
mod support;

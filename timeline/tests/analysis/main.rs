//! The analysis: definitions, real figures, traps, and the reports of users.

mod barriers;
mod cleaning;
mod compare;
mod layers;
mod phases;
mod published;
mod starved;
mod streams;
mod support;

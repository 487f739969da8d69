//! The analysis: definitions, real figures, traps, and the reports of users.

mod barriers;
mod cleaning;
mod compare;
mod layers;
mod phases;
mod properties;
mod published;
mod real;
mod reports;
mod starved;
mod streams;
mod support;

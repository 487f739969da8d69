//! What is wrong with the user's code, collected so that one build shows all of it.
//!
//! In: a span and a text at a time. Out: `compile_error!` calls. A text is lower case, states the fact and then, after
//! `help:`, what to write. Where two places are at fault each of them gets the text, numbered `(1/2)` and `(2/2)`,
//! because a macro cannot attach notes.

use std::fmt::Display;

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;

/// The errors of one function, in the order they were found.
#[derive(Debug, Default)]
pub(crate) struct Diagnostics(Vec<syn::Error>);

impl Diagnostics {
    /// An error at one token.
    pub(crate) fn error(&mut self, at: Span, message: impl Display) {
        self.0.push(syn::Error::new(at, message));
    }

    /// An error that underlines all of `at`.
    pub(crate) fn error_on(&mut self, at: impl ToTokens, message: impl Display) {
        self.0.push(syn::Error::new_spanned(at, message));
    }

    /// An error with two ends.
    pub(crate) fn error_at_both(&mut self, first: Span, second: Span, text: impl Display) {
        self.0.extend(both(first, second, text));
    }

    /// Takes over the error of a parser.
    pub(crate) fn push(&mut self, error: syn::Error) {
        self.0.push(error);
    }

    /// Takes over what another pass found.
    pub(crate) fn append(&mut self, other: Diagnostics) {
        self.0.extend(other.0);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `value` if nothing was wrong.
    pub(crate) fn into_result<T>(self, value: T) -> Result<T, Diagnostics> {
        if self.is_empty() { Ok(value) } else { Err(self) }
    }

    /// One `compile_error!` for each error.
    pub(crate) fn into_compile_errors(self) -> TokenStream {
        self.0.into_iter().map(syn::Error::into_compile_error).collect()
    }

    /// The texts, one a line end, for tests.
    #[cfg(test)]
    pub(crate) fn messages(self) -> Vec<String> {
        self.0.into_iter().flatten().map(|error| error.to_string()).collect()
    }
}

impl From<syn::Error> for Diagnostics {
    fn from(error: syn::Error) -> Self {
        Diagnostics(vec![error])
    }
}

/// The pair of errors that says this at both places; the number goes behind the fact, before the help.
pub(crate) fn both(first: Span, second: Span, text: impl Display) -> [syn::Error; 2] {
    let text = text.to_string();
    let (fact, help) = text.split_at(text.find('\n').unwrap_or(text.len()));
    [syn::Error::new(first, format!("{fact} (1/2){help}")), syn::Error::new(second, format!("{fact} (2/2){help}"))]
}

/// Both errors in one.
pub(crate) fn combined(mut all: syn::Error, next: syn::Error) -> syn::Error {
    all.combine(next);
    all
}

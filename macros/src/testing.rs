//! What the tests of the passes share: source text to tokens, and tokens to a text that does not depend on how they
//! print.

use proc_macro2::TokenStream;

/// The tokens of a source text.
#[track_caller]
pub(crate) fn tokens(source: &str) -> TokenStream {
    source.parse().unwrap_or_else(|error| panic!("{error}: {source}"))
}

/// The text without any white space.
pub(crate) fn compact(tokens: &TokenStream) -> String {
    tokens.to_string().split_whitespace().collect()
}

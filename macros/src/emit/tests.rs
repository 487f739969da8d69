use proc_macro2::TokenStream;

use super::expand;
use crate::testing::tokens;

/// The expansion of a function, formatted.
fn expanded(arguments: &str, source: &str) -> String {
    let function = crate::parse::parse(tokens(arguments), tokens(source)).map_err(|e| e.messages()).expect("the source is right");
    let output: TokenStream = expand(function).map_err(|e| e.messages()).expect("it can be planned");
    let text = output.to_string();
    let file = syn::parse_file(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    prettyplease::unparse(&file)
}

#[test]
fn scratch() {
    if let Ok(path) = std::env::var("MC_SRC") {
        println!("{}", expanded("", &std::fs::read_to_string(path).unwrap()));
    }
}

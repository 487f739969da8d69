//! The arguments of `#[multicore(..)]`.
//!
//! In: the tokens between the parentheses. Out: [`Args`], and an error for each argument that is not understood; what
//! was understood is kept, so that the function itself is still checked.

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Expr, Ident, Path, Token, parenthesized, token};

use crate::cores::{Cores, literal};
use crate::diag::{Diagnostics, both, combined};

const EXPECTED: &str = "expected `streams(..)`, `device(..)`, `explain`, `serial` or `crate = path`";

/// What the attribute asks for.
#[derive(Debug)]
pub(crate) struct Args {
    /// The device's named streams that become variables of the function.
    pub(crate) streams: Vec<Ident>,
    /// Run every block on the main stream.
    pub(crate) serial: bool,
    /// Print the plan into the documentation of the function.
    pub(crate) explain: bool,
    /// The cores of the device that the function is written for, by kind.
    pub(crate) device: Device,
    /// Where the runtime is found.
    pub(crate) krate: Path,
}

/// The cores of a device, as far as they were stated.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Device {
    pub(crate) cube: Option<u32>,
    pub(crate) vector: Option<u32>,
}

impl Device {
    pub(crate) fn is_stated(self) -> bool {
        self.cube.is_some() || self.vector.is_some()
    }
}

impl Default for Args {
    fn default() -> Self {
        let runtime = Ident::new("multicore", Span::call_site());
        let krate = Path {
            leading_colon: Some(Default::default()),
            segments: std::iter::once(syn::PathSegment::from(runtime)).collect(),
        };
        Args { streams: Vec::new(), serial: false, explain: false, device: Device::default(), krate }
    }
}

impl Args {
    /// Reads the arguments; what is wrong goes to `diagnostics`.
    pub(crate) fn parse(tokens: TokenStream, diagnostics: &mut Diagnostics) -> Args {
        let mut args = Args::default();
        let mut keys: Vec<Ident> = Vec::new();
        let parser = |input: ParseStream<'_>| {
            while !input.is_empty() {
                if let Err(error) = args.argument(input, &mut keys) {
                    diagnostics.push(error);
                    skip_to_comma(input)?;
                }
                if !input.is_empty() {
                    input.parse::<Token![,]>()?;
                }
            }
            Ok(())
        };
        if let Err(error) = parser.parse2(tokens) {
            diagnostics.push(error);
        }
        args
    }

    fn argument(&mut self, input: ParseStream<'_>, keys: &mut Vec<Ident>) -> syn::Result<()> {
        if !input.peek(Ident::peek_any) {
            let token: TokenTree = input.parse()?;
            return Err(syn::Error::new(token.span(), format!("unknown argument `{token}`; {EXPECTED}")));
        }
        let key = input.call(Ident::parse_any)?;
        match key.to_string().as_str() {
            "streams" => self.streams(&key, input)?,
            "device" => self.device(&key, input)?,
            "crate" => {
                if !input.peek(Token![=]) {
                    return Err(syn::Error::new(key.span(), "`crate` takes a path: write `crate = path`"));
                }
                input.parse::<Token![=]>()?;
                self.krate = input.call(Path::parse_mod_style)?;
            }
            "serial" => self.serial = flag(&key, input)?,
            "explain" => self.explain = flag(&key, input)?,
            _ => return Err(syn::Error::new(key.span(), format!("unknown argument `{key}`; {EXPECTED}"))),
        }
        if let Some(first) = keys.iter().find(|earlier| **earlier == key) {
            return Err(combine(both(first.span(), key.span(), format!("`{key}` set twice"))));
        }
        keys.push(key);
        Ok(())
    }

    fn streams(&mut self, key: &Ident, input: ParseStream<'_>) -> syn::Result<()> {
        const NAMES: &str = "`streams` takes names: write `streams(a, b)`";
        if !input.peek(token::Paren) {
            return Err(syn::Error::new(key.span(), NAMES));
        }
        let content;
        parenthesized!(content in input);
        let names = match Punctuated::<Ident, Token![,]>::parse_terminated(&content) {
            Ok(names) => names,
            Err(_) => {
                let error = syn::Error::new(content.span(), NAMES);
                content.parse::<TokenStream>()?;
                return Err(error);
            }
        };
        if names.is_empty() {
            let text = "`streams()` declares no stream\nhelp: write `streams(a, b)`, or leave it out";
            return Err(syn::Error::new(key.span(), text));
        }
        for name in names {
            if name == "main" {
                let text = "`main` need not be declared: it is the stream that was current at the call; leave it out";
                return Err(syn::Error::new(name.span(), text));
            }
            if let Some(first) = self.streams.iter().find(|earlier| **earlier == name) {
                return Err(combine(both(first.span(), name.span(), format!("stream `{name}` declared twice"))));
            }
            self.streams.push(name);
        }
        Ok(())
    }
}

impl Args {
    fn device(&mut self, key: &Ident, input: ParseStream<'_>) -> syn::Result<()> {
        if !input.peek(token::Paren) {
            let text = "`device` takes the cores of the device: write `device(cube = 24, vector = 48)`";
            return Err(syn::Error::new(key.span(), text));
        }
        let content;
        parenthesized!(content in input);
        let mut errors = Vec::new();
        match Cores::parse(key, &content, &mut errors) {
            Ok(Cores { cube, vector }) => {
                let number = |count: Option<(Ident, Expr)>| literal(&count?.1).map(|(number, _)| number);
                self.device = Device { cube: number(cube), vector: number(vector) };
            }
            Err(error) => {
                content.parse::<TokenStream>()?;
                errors.push(error);
            }
        }
        errors.into_iter().reduce(combined).map_or(Ok(()), Err)
    }
}

fn flag(key: &Ident, input: ParseStream<'_>) -> syn::Result<bool> {
    if input.is_empty() || input.peek(Token![,]) {
        Ok(true)
    } else {
        Err(syn::Error::new(key.span(), format!("`{key}` takes no value")))
    }
}

fn skip_to_comma(input: ParseStream<'_>) -> syn::Result<()> {
    while !input.is_empty() && !input.peek(Token![,]) {
        input.parse::<TokenTree>()?;
    }
    Ok(())
}

fn combine([first, second]: [syn::Error; 2]) -> syn::Error {
    combined(first, second)
}

//! One `stream!(STREAM, [cores(..)], [after(..)], [reads(..)], [writes(..)], { .. })` call, read into data.
//!
//! In: the macro call as `syn` sees it. Out: a [`StreamBlock`] whose cores are whole numbers above zero where they are
//! literals, and whose `after`, `reads` and `writes` are places; or every error of the header at once.

use proc_macro2::{Span, TokenStream};
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::punctuated::Punctuated;
use syn::{Attribute, Block, Expr, ExprPath, Ident, Macro, Token, parenthesized, token};

use crate::cores::{Cores, bare};
use crate::diag::{both, combined};

const ITEMS: [&str; 4] = ["cores", "after", "reads", "writes"];
const NO_BLOCK: &str = "`stream!` needs a block as its last argument: `stream!(s1, { .. })`";
const UNKNOWN: &str = "unknown item in the header of `stream!`; \
    expected `cores(..)`, `after(..)`, `reads(..)`, `writes(..)` or the block";
const CLOSURE: &str = "the block of `stream!` is not a closure; write `{ .. }`";

/// A block that runs on a stream.
#[derive(Debug)]
pub(crate) struct StreamBlock {
    /// Attributes of the block, `#[allow(..)]` and the like.
    pub(crate) attrs: Vec<Attribute>,
    /// Gives the stream; the path `main` is the stream that was current when the function was entered.
    pub(crate) stream: Expr,
    /// The cube cores the block may use.
    pub(crate) cube: Option<Expr>,
    /// The vector cores the block may use.
    pub(crate) vector: Option<Expr>,
    /// Places whose producers come before the block.
    pub(crate) after: Vec<Expr>,
    /// Places the block reads besides those it shows.
    pub(crate) reads: Vec<Expr>,
    /// Places the block writes besides those it shows.
    pub(crate) writes: Vec<Expr>,
    /// What runs.
    pub(crate) block: Block,
    /// The `stream` token.
    pub(crate) span: Span,
}

impl StreamBlock {
    /// Reads a call of `stream!`, whatever path it is called by; `None` for other macros.
    pub(crate) fn from_macro(mac: &Macro) -> Option<syn::Result<StreamBlock>> {
        let name = &mac.path.segments.last()?.ident;
        (name == "stream").then(|| mac.parse_body_with(|input: ParseStream<'_>| parse(input, name.span())))
    }
}

/// The items between the stream and the block, and what is wrong with them.
#[derive(Default)]
struct Header {
    cores: Option<Ident>,
    counts: Cores,
    after: Vec<Expr>,
    reads: Vec<Expr>,
    writes: Vec<Expr>,
    errors: Vec<syn::Error>,
}

fn parse(input: ParseStream<'_>, span: Span) -> syn::Result<StreamBlock> {
    let mut header = Header::default();
    match block(input, &mut header) {
        Ok((stream, attrs, block)) if header.errors.is_empty() => {
            let Header { counts, after, reads, writes, .. } = header;
            let (cube, vector) = (counts.cube.map(|(_, count)| count), counts.vector.map(|(_, count)| count));
            Ok(StreamBlock { attrs, stream, cube, vector, after, reads, writes, block, span })
        }
        outcome => {
            // What follows the fault is not looked at, and must not be taken for a fault of its own.
            input.parse::<TokenStream>()?;
            header.errors.extend(outcome.err());
            Err(header.errors.into_iter().reduce(combined).unwrap_or_else(|| error_at(input, NO_BLOCK)))
        }
    }
}

fn block(input: ParseStream<'_>, header: &mut Header) -> syn::Result<(Expr, Vec<Attribute>, Block)> {
    let stream = stream(input)?;
    loop {
        if input.peek(token::Brace) {
            return Err(error_at(input, "missing `,` before the block"));
        }
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
        if input.is_empty() {
            return Err(error_at(input, NO_BLOCK));
        }
        if input.peek(token::Brace) || input.peek(Token![#]) {
            break;
        }
        header.item(input)?;
    }
    let attrs = input.call(Attribute::parse_outer)?;
    let block = input.parse()?;
    input.parse::<Option<Token![,]>>()?;
    if input.peek(token::Brace) {
        return Err(error_at(input, "second block in one `stream!`; make it one block, or write two `stream!`"));
    }
    if !input.is_empty() {
        return Err(error_at(input, "the block must be the last argument of `stream!`; move this before it"));
    }
    Ok((stream, attrs, block))
}

/// The stream, which comes first.
fn stream(input: ParseStream<'_>) -> syn::Result<Expr> {
    if input.is_empty() {
        return Err(error_at(input, "`stream!` needs a stream and a block: `stream!(s1, { .. })`"));
    }
    if input.peek(token::Brace) || item_name(input).is_some() {
        return Err(error_at(input, "`stream!` needs the stream first: `stream!(s1, .., { .. })`"));
    }
    // Most are names, and a parser of any expression takes its time.
    if input.peek(Ident) && input.peek2(Token![,]) {
        return Ok(Expr::Path(ExprPath { attrs: Vec::new(), qself: None, path: input.parse::<Ident>()?.into() }));
    }
    // Not `Expr::parse`, which would take `s1 { .. }` for a struct.
    Expr::parse_without_eager_brace(input)
}

/// The keyword, if a header item comes next.
fn item_name(input: ParseStream<'_>) -> Option<Ident> {
    let name = input.fork().parse::<Ident>().ok()?;
    (input.peek2(token::Paren) && ITEMS.iter().any(|item| name == item)).then_some(name)
}

impl Header {
    /// Reads one item. What is wrong inside it is noted and reading goes on; an error means that it cannot go on.
    fn item(&mut self, input: ParseStream<'_>) -> syn::Result<()> {
        let Some(name) = item_name(input) else { return self.unknown(input) };
        input.parse::<Ident>()?;
        let content;
        parenthesized!(content in input);
        if name == "cores" {
            if let Some(first) = &self.cores {
                self.errors.extend(both(first.span(), name.span(), "`cores` set twice"));
                return content.parse::<TokenStream>().map(drop);
            }
            self.counts = Cores::parse(&name, &content, &mut self.errors)?;
            self.cores = Some(name);
            return Ok(());
        }
        let arguments = Punctuated::<Expr, Token![,]>::parse_terminated(&content)?;
        if arguments.is_empty() {
            self.errors.push(syn::Error::new(name.span(), format!("`{name}()` names nothing; write `{name}(x)`")));
        }
        for argument in &arguments {
            self.errors.extend(not_a_place(&name, argument));
        }
        match name.to_string().as_str() {
            "after" => self.after.extend(arguments),
            "reads" => self.reads.extend(arguments),
            _ => self.writes.extend(arguments),
        }
        Ok(())
    }

    fn unknown(&mut self, input: ParseStream<'_>) -> syn::Result<()> {
        for (keyword, text) in [
            ("unsafe", "put `unsafe` inside the block: `{ unsafe { .. } }`"),
            ("async", "a `stream!` block cannot be `async`; write `{ .. }`"),
            ("move", CLOSURE),
        ] {
            if input.fork().call(Ident::parse_any).is_ok_and(|name| name == keyword) {
                return Err(error_at(input, text));
            }
        }
        let item = Expr::parse_without_eager_brace(input)?;
        let name = match &item {
            Expr::Closure(_) => return Err(syn::Error::new_spanned(item, CLOSURE)),
            _ if input.is_empty() => return Err(syn::Error::new_spanned(item, NO_BLOCK)),
            Expr::Call(call) => &call.func,
            Expr::Assign(assign) => &assign.left,
            other => other,
        };
        self.errors.push(syn::Error::new_spanned(name, UNKNOWN));
        Ok(())
    }
}

/// The error of an argument of `after`, `reads` or `writes` that is not a variable or a field of one.
fn not_a_place(item: &Ident, argument: &Expr) -> Option<syn::Error> {
    let text = match bare(argument) {
        Expr::Path(path) if path.path.get_ident().is_some() => return None,
        Expr::Field(field) => return not_a_place(item, &field.base),
        Expr::Reference(_) => format!("`{item}` takes the variable itself; leave out the `&`"),
        Expr::Index(_) => format!("`{item}` takes whole variables; leave out the index"),
        _ => format!(
            "`{item}` takes variables and their fields, as in `{item}(x, self.kv)`; bind the value with `let` first"
        ),
    };
    Some(syn::Error::new_spanned(argument, text))
}

/// At the next token, or at the closing bracket if there is none.
fn error_at(input: ParseStream<'_>, text: &str) -> syn::Error {
    syn::Error::new(input.span(), text)
}

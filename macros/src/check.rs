//! What a `#[multicore]` function may not be, and where a `stream!` may not stand.
//!
//! In: a function with canonical `stream!` calls. Out: an error for each fault. What rustc says better is left to it.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::visit::{self, Visit};
use syn::{
    Arm, Attribute, Expr, ExprAsync, ExprAwait, ExprClosure, ExprConst, Ident, ImplItemFn, ItemConst, ItemFn,
    ItemStatic, Macro, ReturnType, Signature, Stmt, TraitItemFn, Type,
};

use crate::args::Args;
use crate::blocks::Blocks;
use crate::cores::literal;
use crate::diag::Diagnostics;
use crate::header::StreamBlock;
use crate::normalise::{attribute_at, call_at};

/// Checks one function.
pub(crate) fn check(args: &Args, function: &ItemFn, blocks: &Blocks, diagnostics: &mut Diagnostics) {
    for attribute in function.attrs.iter().filter(|attribute| is(attribute, "multicore")) {
        diagnostics.error_on(attribute, "duplicate `#[multicore]`; leave one of them out");
    }
    signature(&function.sig, diagnostics);
    Body { args, blocks, scope: Scope::Function, in_block: false, cfgs: 0, diagnostics }.visit_block(&function.block);
}

fn signature(signature: &Signature, diagnostics: &mut Diagnostics) {
    let name = &signature.ident;
    if let Some(keyword) = &signature.asyncness {
        diagnostics.error(
            keyword.span,
            "async functions are not supported: a cancelled call would leave the device using its buffers\n\
                help: make it a plain `fn`, and call it from the async one",
        );
    }
    if let Some(keyword) = &signature.constness {
        diagnostics.error(
            keyword.span,
            "`#[multicore]` functions run device work and cannot be `const`\nhelp: leave `const` out",
        );
    }
    if let Some(abi) = signature.abi.as_ref().filter(|abi| abi.name.as_ref().is_none_or(|name| name.value() != "Rust"))
    {
        diagnostics.error_on(
            abi,
            format!(
                "`extern` functions are not supported: a panic may not unwind through them\n\
                help: make `{name}` a plain `fn`, and call it from the `extern` one"
            ),
        );
    }
    if !may_be_result(&signature.output) {
        let fact = "a `#[multicore]` function returns a `Result`: device work can fail";
        match &signature.output {
            ReturnType::Default => diagnostics.error(name.span(), format!("{fact}\nhelp: write `-> Result<()>`")),
            ReturnType::Type(_, written) => {
                diagnostics.error_on(written, format!("{fact}\nhelp: put it into a `Result<..>`"));
            }
        }
    }
}

/// Can this be a `Result`? Only what surely cannot is refused: an alias may have any name.
pub(crate) fn may_be_result(output: &ReturnType) -> bool {
    const OTHERS: [&str; 19] = [
        "bool", "char", "f32", "f64", "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128",
        "usize", "String", "Vec", "Option",
    ];
    match output {
        ReturnType::Default => false,
        ReturnType::Type(_, written) => match &**written {
            Type::Path(path) => {
                path.path.segments.last().is_none_or(|last| !OTHERS.iter().any(|other| last.ident == other))
            }
            Type::Group(_) | Type::Paren(_) | Type::Macro(_) | Type::Verbatim(_) => true,
            _ => false,
        },
    }
}

/// The innermost thing around the code that decides when it runs.
enum Scope {
    Function,
    Closure,
    Async,
    Const(&'static str),
    Nested(Ident),
}

struct Body<'a> {
    args: &'a Args,
    blocks: &'a Blocks,
    scope: Scope,
    in_block: bool,
    /// How many `#[cfg]` were met.
    cfgs: u32,
    diagnostics: &'a mut Diagnostics,
}

impl Body<'_> {
    fn within(&mut self, scope: Scope, visit: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.scope, scope);
        visit(self);
        self.scope = outer;
    }

    /// An item has a body of its own, which does not belong to the block around it.
    fn item(&mut self, scope: Scope, visit: impl FnOnce(&mut Self)) {
        let outer = std::mem::take(&mut self.in_block);
        self.within(scope, visit);
        self.in_block = outer;
    }

    fn nested_function(&mut self, attributes: &[Attribute], name: &Ident, visit: impl FnOnce(&mut Self)) {
        if !attributes.iter().any(|attribute| is(attribute, "multicore")) {
            self.item(Scope::Nested(name.clone()), visit);
        }
    }

    fn stream(&mut self, block: &StreamBlock) {
        let text = match &self.scope {
            Scope::Function => return self.block(block),
            Scope::Closure => "`stream!` cannot be used in a closure, which may run later, often or never\n\
                help: put the closure inside the block"
                .to_owned(),
            Scope::Async => {
                "`stream!` cannot be used in an `async` block, which may be cancelled while the device uses its buffers\n\
                help: write it before, and use its value in the `async` block"
                    .to_owned()
            }
            Scope::Const(what) => format!(
                "`stream!` cannot be used in {what}, which is evaluated by the compiler\n\
                help: make it a `let` of the function"
            ),
            Scope::Nested(name) => format!(
                "`stream!` stands in the function `{name}`, which is not `#[multicore]`\n\
                help: put `#[multicore]` on `{name}`"
            ),
        };
        self.diagnostics.error(block.span, text);
    }

    fn block(&mut self, block: &StreamBlock) {
        for header in [&block.cube, &block.vector].into_iter().flatten().chain([&block.stream]) {
            for inner in streams_in(header.to_token_stream()) {
                self.diagnostics
                    .error(inner.span(), "cannot analyse `stream!` in the header of another; bind it with `let` first");
            }
        }
        for value in &block.after {
            let name = place(value);
            if name == place(&block.stream) {
                let text = format!(
                    "`after({name})` has no effect on stream `{name}`\n\
                        help: leave it out, or name a value that another stream produces"
                );
                self.diagnostics.error_on(value, text);
            } else if self.args.streams.iter().any(|stream| stream == &name) {
                self.diagnostics.error_on(value, format!("`{name}` is a stream; `after` takes the value to wait for"));
            }
        }
        for (key, count, available) in
            [("cube", &block.cube, self.args.device.cube), ("vector", &block.vector, self.args.device.vector)]
        {
            if let Some(available) = available
                && let Some((asked, at)) = count.as_ref().and_then(literal)
                && asked > available
            {
                let text = format!(
                    "`{key} = {asked}` is more than the device has: {available}\nhelp: write 1 to {available}, or state \
                    another device in `#[multicore(device(..))]`"
                );
                self.diagnostics.error(at, text);
            }
        }
        let outer = std::mem::replace(&mut self.in_block, true);
        block.attrs.iter().for_each(|attribute| self.visit_attribute(attribute));
        self.visit_block(&block.block);
        self.in_block = outer;
    }

    /// `#[cfg]` in front of something that has a block in it. Inside a block every `#[cfg]` is refused, so there it
    /// need not be looked at.
    fn hidden_block(&mut self, guarded: impl ToTokens) {
        let tokens: Vec<TokenTree> = guarded.to_token_stream().into_iter().collect();
        let attributes = (0..).step_by(2).map_while(|at| Some((at, attribute_at(&tokens, at)?)));
        let cfg = attributes.filter(|(_, attribute)| attribute.name == "cfg").map(|(at, _)| at).next();
        if let Some(at) = cfg
            && !self.in_block
            && !streams_in(tokens.iter().cloned().collect()).is_empty()
        {
            self.diagnostics.error_on(tokens[at..at + 2].iter().cloned().collect::<TokenStream>(), CFG);
        }
    }
}

const CFG: &str = "the analysis cannot see whether `#[cfg]` keeps a `stream!` block\n\
    help: put it on the whole function, or use `if cfg!(..)`";

impl<'ast> Visit<'ast> for Body<'_> {
    fn visit_macro(&mut self, mac: &'ast Macro) {
        match self.blocks.get(mac) {
            Some(Ok(block)) => self.stream(block),
            Some(Err(error)) => self.diagnostics.push(error.clone()),
            None if mac.path.segments.last().is_some_and(|last| last.ident == "multicore_fn") => {}
            None => {
                let name = mac.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
                for stream in streams_in(mac.tokens.clone()) {
                    let text = format!("cannot analyse `stream!` inside `{name}!`; bind it with `let` first");
                    self.diagnostics.error(stream.span(), text);
                }
            }
        }
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if is(attribute, "cfg") {
            self.cfgs += 1;
            if self.in_block {
                self.diagnostics.error_on(attribute, CFG);
            }
        }
    }

    fn visit_expr_await(&mut self, awaited: &'ast ExprAwait) {
        if self.in_block && matches!(self.scope, Scope::Function) {
            let text = "cannot await inside a `stream!` block: the call may be cancelled while the device uses its buffers\n\
                help: await before the block, and use the value in it";
            self.diagnostics.error(awaited.await_token.span, text);
        }
        visit::visit_expr_await(self, awaited);
    }

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        let before = self.cfgs;
        visit::visit_stmt(self, statement);
        if self.cfgs > before && !matches!(statement, Stmt::Item(_)) {
            self.hidden_block(statement);
        }
    }

    fn visit_arm(&mut self, arm: &'ast Arm) {
        let before = self.cfgs;
        visit::visit_arm(self, arm);
        if self.cfgs > before {
            self.hidden_block(arm);
        }
    }

    fn visit_expr_closure(&mut self, closure: &'ast ExprClosure) {
        self.within(Scope::Closure, |body| visit::visit_expr_closure(body, closure));
    }

    fn visit_expr_async(&mut self, block: &'ast ExprAsync) {
        self.within(Scope::Async, |body| visit::visit_expr_async(body, block));
    }

    fn visit_expr_const(&mut self, block: &'ast ExprConst) {
        self.within(Scope::Const("a `const` block"), |body| visit::visit_expr_const(body, block));
    }

    fn visit_item_const(&mut self, item: &'ast ItemConst) {
        self.item(Scope::Const("a `const`"), |body| visit::visit_item_const(body, item));
    }

    fn visit_item_static(&mut self, item: &'ast ItemStatic) {
        self.item(Scope::Const("a `static`"), |body| visit::visit_item_static(body, item));
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.nested_function(&item.attrs, &item.sig.ident, |body| visit::visit_item_fn(body, item));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.nested_function(&item.attrs, &item.sig.ident, |body| visit::visit_impl_item_fn(body, item));
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        self.nested_function(&item.attrs, &item.sig.ident, |body| visit::visit_trait_item_fn(body, item));
    }
}

/// Is this the attribute `name`, whatever path it is called by?
pub(crate) fn is(attribute: &Attribute, name: &str) -> bool {
    attribute.path().segments.last().is_some_and(|last| last.ident == name)
}

/// The names of all calls of `stream!` in these tokens.
pub(crate) fn streams_in(tokens: TokenStream) -> Vec<Ident> {
    let list: Vec<TokenTree> = tokens.into_iter().collect();
    let streams = (0..list.len()).flat_map(|at| match &list[at] {
        TokenTree::Group(group) => streams_in(group.stream()),
        _ => call_at(&list, at).map(|call| call.name).into_iter().collect(),
    });
    streams.collect()
}

/// A place as it is written.
fn place(place: &Expr) -> String {
    place.to_token_stream().to_string().replace(' ', "")
}

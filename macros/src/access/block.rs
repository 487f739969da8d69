//! Blocks and statements, and the blocks of streams.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::token::Brace;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, Expr, ExprBlock, ExprMacro, Local, Pat, PatIdent, Stmt, Token};

use super::place::{Usage, bare};
use super::value::has_block;
use super::{Dest, Nested, Statement, Walk};
use crate::emit::text;
use crate::emit::writer::own;
use crate::first;
use crate::model::{Access, MAIN, Mode, StreamId};
use crate::parse::StreamBlock;
use crate::resolve::Bound;

impl Walk<'_, '_> {
    /// Walks a block whose value goes to `dest`. True if a part of the value was computed by the current stream and has not
    /// arrived yet.
    pub(super) fn block(&mut self, block: &mut Block, dest: &Dest, splits: bool) -> bool {
        self.seen.scopes.enter();
        let fresh = self.statements(block, dest, splits);
        self.seen.scopes.leave();
        fresh
    }

    /// The statements of a block whose scope is open. `splits`: its value arrives at a point at its end.
    pub(super) fn statements(&mut self, block: &mut Block, dest: &Dest, splits: bool) -> bool {
        let outer = std::mem::take(&mut self.statement);
        let launches = self.launches;
        let outer_moved = std::mem::take(&mut self.moved);
        let outer_splits = std::mem::replace(&mut self.splits, splits);
        let statements = std::mem::take(&mut block.stmts);
        let last = statements.len().saturating_sub(1);
        let mut fresh = false;
        for (i, mut statement) in statements.into_iter().enumerate() {
            if let Stmt::Macro(call) = statement {
                let attrs = call.attrs;
                statement = Stmt::Expr(Expr::Macro(ExprMacro { attrs, mac: call.mac }), call.semi_token);
            }
            match statement {
                Stmt::Expr(value, None) if i == last => {
                    // What was moved in this value's other tails counts for it as well.
                    self.moved.clone_from(&outer_moved);
                    fresh = self.tail(value, dest, &mut block.stmts);
                }
                _ => self.statement(statement, &mut block.stmts),
            }
            self.statement.before.clear();
        }
        self.splits = outer_splits;
        let tail_moved = std::mem::replace(&mut self.moved, outer_moved);
        self.moved.extend(tail_moved);
        self.statement = Statement { launched: outer.launched || self.launches > launches, ..outer };
        fresh
    }

    fn statement(&mut self, mut statement: Stmt, written: &mut Vec<Stmt>) {
        let outer_splits = std::mem::replace(&mut self.splits, false);
        self.statement = Statement { before: Vec::new(), launched: false };
        self.moved.clear();
        let mut names = Vec::new();
        match &mut statement {
            Stmt::Local(local) => names = self.local(local),
            Stmt::Expr(value, semi) => {
                let dest = if semi.is_some() { Dest::Discard } else { Dest::Ignore };
                self.walk_into(value, &dest);
            }
            Stmt::Item(_) | Stmt::Macro(_) => {}
        }
        let after = match &statement {
            Stmt::Item(_) => Vec::new(),
            statement => self.point(first::of_statement(statement)),
        };
        written.append(&mut self.statement.before);
        written.push(statement);
        written.extend(after.into_iter().map(verbatim));
        self.seen.scopes.reveal(&names);
        self.splits = outer_splits;
    }

    fn local(&mut self, local: &mut Local) -> Vec<crate::model::VarId> {
        let bound = self.seen.scopes.pattern(&local.pat, self.model.now());
        let names = bound.vars();
        let declared = self.declare(&names);
        self.statement.before.extend(declared.into_iter().map(verbatim));
        if let Some(init) = &mut local.init {
            let dest = Dest::of(&bound);
            let fresh = if borrows(&local.pat) {
                let value = self.operand(&mut init.expr, Usage::Match);
                self.deliver(&value, &dest)
            } else {
                self.walk_into(&mut init.expr, &dest)
            };
            if fresh {
                self.arrive(&dest);
            }
            if let Some((_, otherwise)) = &mut init.diverge {
                self.model.open();
                self.walk_into(otherwise, &Dest::Ignore);
                let otherwise = self.model.close();
                self.model.branch(vec![otherwise, Vec::new()]);
            }
        }
        names
    }

    /// The value of a block.
    pub(super) fn tail(&mut self, mut value: Expr, dest: &Dest, written: &mut Vec<Stmt>) -> bool {
        self.statement = Statement { before: Vec::new(), launched: false };
        let mut fresh = self.walk_into(&mut value, dest);
        if self.splits && fresh {
            self.arrive(dest);
            fresh = false;
        }
        let needs_point = self.splits || !self.arrivals.is_empty() || !self.moves.is_empty();
        let after = if needs_point { self.point(first::of(&value)) } else { Vec::new() };
        written.append(&mut self.statement.before);
        finish(value, after, self.statement.launched, dest, written);
        fresh
    }

    /// Walks an expression whose value goes to `dest`. True if a part of the value was computed by the current stream and
    /// has not arrived yet.
    pub(super) fn walk_into(&mut self, expr: &mut Expr, dest: &Dest) -> bool {
        match expr {
            Expr::Paren(paren) => self.walk_into(&mut paren.expr, dest),
            Expr::Group(group) => self.walk_into(&mut group.expr, dest),
            Expr::Try(tried) if is_block_like(&tried.expr) => self.walk_into(&mut tried.expr, dest),
            Expr::Tuple(tuple) if matches!(dest, Dest::Tuple(parts) if parts.len() == tuple.elems.len()) => {
                if let Dest::Tuple(parts) = dest {
                    for (element, dest) in tuple.elems.iter_mut().zip(parts) {
                        if self.walk_into(element, dest) {
                            self.arrive(dest);
                        }
                    }
                }
                false
            }
            _ if is_block_like(expr) => {
                let splits = !dest.places().is_empty() && has_block(expr);
                let outer = std::mem::replace(&mut self.splits, splits);
                // What other parts of the statement have computed arrives at the statement's own point.
                let waiting = (std::mem::take(&mut self.arrivals), std::mem::take(&mut self.moves));
                let fresh = self.block_like(expr, dest);
                (self.arrivals, self.moves) = waiting;
                self.splits = outer;
                fresh
            }
            _ => {
                let value = self.value(expr);
                self.deliver(&value, dest)
            }
        }
    }

    /// A block of a stream.
    pub(super) fn stream_block(&mut self, expr: &mut Expr, dest: &Dest) {
        let Expr::Macro(call) = expr else { return };
        let index = self.next_block;
        self.next_block += 1;
        if self.seen.blocks.len() == index {
            let block = self.seen.unread.take(&call.mac);
            self.seen.blocks.push(block);
        }
        let Some(mut block) = self.seen.blocks[index].take() else { return };
        // Only what lies before the block in this statement can be recorded outside of it in time.
        let mut head = self.point(block.span);
        let (stream, is_main, unknown) = self.stream_of(&block.stream);
        self.seen.nesting.push(Nested { stream, outer: self.within });
        let outer = (std::mem::replace(&mut self.on, stream), self.within.replace(index));
        if let Some(output) = &mut self.output {
            head.push(output.enter(index, &block, is_main));
        }
        let effects = self.header(&block, &mut head);
        self.effects.push(effects.clone());
        self.seen.scopes.enter();
        self.statements(&mut block.block, dest, true);
        self.seen.scopes.leave();
        self.effects.pop();
        if !effects.is_empty() {
            self.block_end(&mut block.block, effects, block.span, dest);
        }
        if unknown {
            self.model.end_unknown(stream);
        }
        (self.on, self.within) = outer;
        self.launches += 1;
        self.statement.launched = true;
        if let Some(output) = &mut self.output {
            output.left();
            let statements = head.into_iter().map(verbatim).chain(std::mem::take(&mut block.block.stmts)).collect();
            let body = Block { brace_token: block.block.brace_token, stmts: statements };
            let attrs = std::mem::take(&mut call.attrs);
            *expr = with_attributes(&block.attrs, Expr::Block(ExprBlock { attrs, label: None, block: body }));
        }
        self.seen.blocks[index] = Some(block);
    }

    /// What the header of a block says besides its stream; gives what the block touches without showing it.
    fn header(&mut self, block: &StreamBlock, head: &mut Vec<TokenStream>) -> Vec<Access> {
        let mut effects = Vec::new();
        for (list, mode, is_after) in
            [(&block.after, Mode::Read, true), (&block.reads, Mode::Read, false), (&block.writes, Mode::Write, false)]
        {
            for place in list {
                let Some(at) = self.fixed_place(place) else {
                    let text = format!(
                        "`{}` is not a variable of this function; name one that holds the value",
                        text::of(place)
                    );
                    self.errors.push(syn::Error::new_spanned(place, text));
                    continue;
                };
                let accesses: Vec<Access> =
                    self.reached(at, mode, None, false).into_iter().map(|used| used.access).collect();
                let node = self.node(accesses.clone(), first::of(place), true);
                if is_after {
                    self.seen.after.push((node, place.clone()));
                } else {
                    effects.extend(accesses);
                }
                let Some(output) = &mut self.output else { continue };
                head.extend(output.expects(node).into_iter().map(|wait| quote!(#wait;)));
                // To rustc the variable is used now, whatever has become of it.
                head.push(quote!(let _ = #place;));
            }
        }
        effects
    }

    /// What a block touches without showing it is recorded at its end.
    fn block_end(&mut self, block: &mut Block, effects: Vec<Access>, span: Span, dest: &Dest) {
        effects.into_iter().for_each(|access| self.model.touch(access));
        let after = self.point(span);
        if after.is_empty() {
            return;
        }
        match block.stmts.pop() {
            Some(Stmt::Expr(value, None)) => finish(value, after, true, dest, &mut block.stmts),
            last => block.stmts.extend(last.into_iter().chain(after.into_iter().map(verbatim))),
        }
    }

    /// The stream that an expression means, whether it is `main`, and whether nothing is known of it.
    fn stream_of(&mut self, expr: &Expr) -> (StreamId, bool, bool) {
        let mut stream = bare(expr);
        while let Expr::Reference(reference) = stream {
            stream = bare(&reference.expr);
        }
        if matches!(stream, Expr::Path(path) if path.path.is_ident("main")) && self.seen.scopes.named("main").is_none()
        {
            return (MAIN, true, false);
        }
        if let Some(place) = self.fixed_place(stream) {
            let facts = self.seen.scopes.facts(place.var);
            if !facts.mutable && !facts.exclusive {
                let since = facts.since;
                let key = (place.var, place.path);
                let known = self.streams.get(&key).copied();
                let stream = known.unwrap_or_else(|| self.model.stream_since(text::of_expr(expr), since));
                self.streams.insert(key, stream);
                return (stream, false, false);
            }
        }
        (self.model.begin_unknown(text::of_expr(expr)), false, true)
    }

    /// A new scope with the names of a pattern in it, for an arm or a body.
    pub(super) fn bound(&mut self, bound: &Bound) -> Vec<TokenStream> {
        let vars = bound.vars();
        let declared = self.declare(&vars);
        self.seen.scopes.reveal(&vars);
        declared
    }
}

/// Ends a block with its value and what comes after the value.
fn finish(value: Expr, after: Vec<TokenStream>, launched: bool, dest: &Dest, written: &mut Vec<Stmt>) {
    let span = first::of(&value);
    if after.is_empty() {
        written.push(Stmt::Expr(value, None));
    } else if !launched {
        written.extend(after.into_iter().map(verbatim));
        written.push(Stmt::Expr(value, None));
    } else if matches!(dest, Dest::Discard) {
        written.push(Stmt::Expr(value, Some(<Token![;]>::default())));
        written.extend(after.into_iter().map(verbatim));
    } else {
        // A wrong type is to be reported at the author's value.
        let name = syn::Ident::new("__value", Span::mixed_site().located_at(span));
        written.push(verbatim(quote!(let #name = #value;)));
        written.extend(after.into_iter().map(verbatim));
        written.push(verbatim(quote!(#name)));
    }
}

/// A block under the attributes of its header. Only statements can have attributes, not values.
fn with_attributes(attrs: &[Attribute], block: Expr) -> Expr {
    if attrs.is_empty() {
        return block;
    }
    let value = own("__value");
    let stmts = vec![verbatim(quote!(#(#attrs)* let #value = #block;)), verbatim(quote!(#value))];
    Expr::Block(ExprBlock { attrs: Vec::new(), label: None, block: Block { brace_token: Brace::default(), stmts } })
}

/// Has the pattern a `ref`?
fn borrows(pattern: &Pat) -> bool {
    struct Find(bool);
    impl<'a> Visit<'a> for Find {
        fn visit_pat_ident(&mut self, name: &'a PatIdent) {
            self.0 |= name.by_ref.is_some();
            visit::visit_pat_ident(self, name);
        }
    }
    let mut find = Find(false);
    find.visit_pat(pattern);
    find.0
}

/// Written as it is.
pub(super) fn verbatim(tokens: TokenStream) -> Stmt {
    Stmt::Expr(Expr::Verbatim(tokens), None)
}

/// Has the expression blocks, in which its value is made?
pub(super) fn is_block_like(expr: &Expr) -> bool {
    match expr {
        Expr::Paren(paren) => is_block_like(&paren.expr),
        Expr::Group(group) => is_block_like(&group.expr),
        Expr::Block(_)
        | Expr::Unsafe(_)
        | Expr::TryBlock(_)
        | Expr::If(_)
        | Expr::Match(_)
        | Expr::Loop(_)
        | Expr::While(_)
        | Expr::ForLoop(_) => true,
        Expr::Macro(call) => call.mac.path.segments.last().is_some_and(|last| last.ident == "stream"),
        _ => false,
    }
}

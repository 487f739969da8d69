//! Control flow: branches, loops, and what leaves them.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{BinOp, Block, Expr, ExprBlock, ExprForLoop, ExprMatch, ExprWhile, Label, Lifetime, Pat, Stmt};

use super::block::verbatim;
use super::place::{Usage, bare};
use super::rules;
use super::{Dest, Target, Value, Walk};
use crate::first;
use crate::model::{Access, Exit, Mode, TargetId};
use crate::resolve::{Alias, Reach};

/// What a pattern at the head of a body is matched with.
type Matched = Option<(Pat, Value)>;

impl Walk<'_, '_> {
    /// An expression with blocks in it as an operand: its value is a variable without a name.
    pub(super) fn block_operand(&mut self, expr: &mut Expr) -> Value {
        let var = self.seen.scopes.bind("block".to_owned(), self.model.now());
        let declared = self.declare(&[var]);
        self.statement.before.extend(declared.into_iter().map(verbatim));
        let dest = Dest::To(vec![Access::new(var, Mode::Write)]);
        let fresh = self.walk_into(expr, &dest);
        let value = self.used(Access::new(var, Mode::Read), Usage::Value);
        Value { fresh, ..value }
    }

    pub(super) fn block_like(&mut self, expr: &mut Expr, dest: &Dest) -> bool {
        match expr {
            Expr::Paren(paren) => self.block_like(&mut paren.expr, dest),
            Expr::Group(group) => self.block_like(&mut group.expr, dest),
            Expr::Block(ExprBlock { label: None, block, .. }) => self.block(block, dest, self.splits),
            Expr::Block(ExprBlock { label: Some(label), block, .. }) => {
                let target = self.open_target(Some(label), false, dest);
                self.model.open();
                let fresh = self.block(block, dest, self.splits);
                let body = self.model.close();
                self.targets.pop();
                self.model.labelled(target, body);
                fresh
            }
            Expr::Unsafe(block) => self.block(&mut block.block, dest, self.splits),
            Expr::TryBlock(block) => self.block(&mut block.block, dest, self.splits),
            Expr::If(branch) => {
                self.seen.scopes.enter();
                let matched = self.condition(&mut branch.cond);
                let moved = self.moved.clone();
                self.model.open();
                // Without an `else` there is no value.
                let then_dest = if branch.else_branch.is_some() { dest } else { &Dest::Discard };
                let mut fresh = self.body(&mut branch.then_branch, matched, then_dest);
                let then = self.model.close();
                self.seen.scopes.leave();
                let moved = std::mem::replace(&mut self.moved, moved);
                self.model.open();
                if let Some((_, otherwise)) = &mut branch.else_branch {
                    fresh |= match &mut **otherwise {
                        Expr::Block(block) => self.body(&mut block.block, None, dest),
                        // `else if`
                        other => self.block_like(other, dest),
                    };
                }
                let otherwise = self.model.close();
                self.model.branch(vec![then, otherwise]);
                self.moved.extend(moved);
                fresh
            }
            Expr::Match(choice) => self.choice(choice, dest),
            Expr::Loop(repeated) => {
                let target = self.open_target(repeated.label.as_ref(), true, dest);
                let start = self.model.open_loop();
                self.body(&mut repeated.body, None, &Dest::Discard);
                self.model.close_loop(target, start);
                self.targets.pop();
                // Its value left by `break`, and arrived there.
                false
            }
            Expr::While(repeated) => {
                self.while_loop(repeated);
                false
            }
            Expr::ForLoop(repeated) => {
                self.for_loop(repeated);
                false
            }
            _ => {
                self.stream_block(expr, dest);
                false
            }
        }
    }

    fn open_target(&mut self, label: Option<&Label>, is_loop: bool, dest: &Dest) -> TargetId {
        let id = self.model.target();
        let label = label.map(|label| label.name.ident.clone());
        self.targets.push(Target { label, id, is_loop, dest: dest.clone(), depth: self.effects.len() });
        id
    }

    /// The block behind a condition or pattern: what was computed before it can be recorded at its start.
    fn body(&mut self, block: &mut Block, matched: Matched, dest: &Dest) -> bool {
        self.seen.scopes.enter();
        let head = self.head(matched, block.brace_token.span.open());
        let splits = self.splits;
        let fresh = self.statements(block, dest, splits);
        self.seen.scopes.leave();
        block.stmts.splice(0..0, head.into_iter().map(verbatim));
        fresh
    }

    /// The start of an arm or body: the names of its pattern, in the scope that is open, with what they are given.
    fn head(&mut self, matched: Matched, span: Span) -> Vec<TokenStream> {
        let mut head = Vec::new();
        if let Some((pattern, value)) = matched {
            let bound = self.seen.scopes.pattern(&pattern, self.model.now());
            head = self.bound(&bound);
            let dest = Dest::of(&bound);
            if self.deliver(&value, &dest) {
                self.arrive(&dest);
            }
        }
        head.extend(self.point(span));
        head
    }

    /// A condition. A pattern that is all of it is matched at the start of the body; those in a chain of `&&` are seen
    /// through: their names mean what they were taken from.
    fn condition(&mut self, condition: &mut Expr) -> Matched {
        match condition {
            Expr::Let(binding) => {
                let value = self.operand(&mut binding.expr, Usage::Match);
                Some(((*binding.pat).clone(), value))
            }
            _ => {
                self.chain(condition);
                None
            }
        }
    }

    pub(super) fn chain(&mut self, condition: &mut Expr) {
        match condition {
            Expr::Binary(binary) if matches!(binary.op, BinOp::And(_)) => {
                self.chain(&mut binary.left);
                self.model.open();
                self.chain(&mut binary.right);
                let right = self.model.close();
                self.model.branch(vec![right, Vec::new()]);
            }
            Expr::Let(binding) => {
                let value = self.operand(&mut binding.expr, Usage::Match);
                let declared = self.see_through(&binding.pat, &value);
                self.statement.before.extend(declared.into_iter().map(verbatim));
            }
            other => {
                self.value(other);
            }
        }
    }

    fn see_through(&mut self, pattern: &Pat, value: &Value) -> Vec<TokenStream> {
        let bound = self.seen.scopes.pattern(pattern, self.model.now());
        let declared = self.bound(&bound);
        let aliases = value.uses.iter().map(|used| {
            let Access { var, path, part, mode, .. } = used.access.clone();
            let reach = if mode == Mode::Write || used.lends == Some(Reach::Same) { Reach::Same } else { Reach::Read };
            Alias { var, path, part, reach }
        });
        let holds = aliases.chain(value.holds.iter().cloned()).collect();
        let dest = Dest::of(&bound);
        if self.deliver(&Value { uses: Vec::new(), holds, ..value.clone() }, &dest) {
            self.arrive(&dest);
        }
        declared
    }

    fn choice(&mut self, choice: &mut ExprMatch, dest: &Dest) -> bool {
        let value = self.operand(&mut choice.expr, Usage::Match);
        let mut arms = Vec::with_capacity(choice.arms.len());
        let mut fresh = false;
        let before = self.moved.clone();
        let mut moved = Vec::new();
        for arm in &mut choice.arms {
            self.moved.clone_from(&before);
            self.model.open();
            self.seen.scopes.enter();
            let mut pattern = &mut arm.pat;
            while let Pat::Paren(paren) = pattern {
                pattern = &mut paren.pat;
            }
            let head = match pattern {
                Pat::Guard(guarded) => {
                    let mut head = self.see_through(&guarded.pat, &value);
                    // A guard is no statement: nothing can be put before it.
                    let launched = std::mem::replace(&mut self.statement.launched, true);
                    self.chain(&mut guarded.guard);
                    self.statement.launched = launched;
                    head.extend(self.point(first::of(&guarded.guard)));
                    head
                }
                pattern => {
                    let span = first::of_pattern(pattern);
                    self.head(Some((pattern.clone(), value.clone())), span)
                }
            };
            fresh |= self.arm(&mut arm.body, head, dest);
            self.seen.scopes.leave();
            arms.push(self.model.close());
            moved.append(&mut self.moved);
        }
        self.moved = moved;
        self.model.branch(arms);
        fresh
    }

    /// The body of a `match` arm, which becomes a block if something is written into it.
    fn arm(&mut self, body: &mut Expr, head: Vec<TokenStream>, dest: &Dest) -> bool {
        let mut block = match body {
            Expr::Block(ExprBlock { attrs, label: None, block }) if attrs.is_empty() => {
                Block { brace_token: block.brace_token, stmts: std::mem::take(&mut block.stmts) }
            }
            _ => {
                let value = std::mem::replace(body, Expr::Verbatim(TokenStream::new()));
                Block { brace_token: syn::token::Brace::default(), stmts: vec![Stmt::Expr(value, None)] }
            }
        };
        let splits = self.splits;
        let was_block = matches!(body, Expr::Block(_));
        let fresh = self.block(&mut block, dest, splits);
        block.stmts.splice(0..0, head.into_iter().map(verbatim));
        *body = match &mut block.stmts[..] {
            [Stmt::Expr(value, None)] if !was_block => std::mem::replace(value, Expr::Verbatim(TokenStream::new())),
            _ => Expr::Block(ExprBlock { attrs: Vec::new(), label: None, block }),
        };
        fresh
    }

    fn while_loop(&mut self, repeated: &mut ExprWhile) {
        let target = self.open_target(repeated.label.as_ref(), true, &Dest::Ignore);
        let start = self.model.open_loop();
        self.seen.scopes.enter();
        // The condition is evaluated again and again: what it expects cannot stand before the loop.
        self.statement.launched = true;
        let matched = self.condition(&mut repeated.cond);
        self.model.open();
        self.body(&mut repeated.body, matched, &Dest::Discard);
        let body = self.model.close();
        self.seen.scopes.leave();
        self.close_loop(body, target, start);
    }

    fn for_loop(&mut self, repeated: &mut ExprForLoop) {
        let mut value = self.operand(&mut repeated.expr, Usage::Value);
        value.lazy |= matches!(bare(&repeated.expr), Expr::Call(call) if !matches!(&*call.func, Expr::Path(path) if rules::callee(&path.path) != rules::Callee::Unknown));
        if value.lazy {
            // Each step may launch. What it uses is borrowed for all of the loop, so nothing can come to it meanwhile.
            let holds = self.held(&mut value);
            let expects = self.launch(value.uses, first::of(&repeated.expr));
            crate::emit::place::before_call(&mut repeated.expr, None, expects);
            value = Value { fresh: !value.host, host: value.host, indexed: value.indexed, holds, ..Value::default() };
        }
        let target = self.open_target(repeated.label.as_ref(), true, &Dest::Ignore);
        let start = self.model.open_loop();
        self.model.open();
        let pattern = (*repeated.pat).clone();
        self.body(&mut repeated.body, Some((pattern, value)), &Dest::Discard);
        let body = self.model.close();
        self.close_loop(body, target, start);
    }

    /// Ends a loop that goes through `body` or leaves.
    fn close_loop(&mut self, body: Vec<crate::model::Op>, target: TargetId, start: crate::model::Position) {
        self.model.open();
        self.model.exit(Exit::Break(target));
        let leave = self.model.close();
        self.model.branch(vec![body, leave]);
        self.model.close_loop(target, start);
        self.targets.pop();
    }

    /// `break`, `continue`, `return`.
    pub(super) fn exit(&mut self, expr: &mut Expr) {
        match expr {
            Expr::Return(returned) => {
                if let Some(value) = &mut returned.expr {
                    self.walk_into(value, &Dest::Ignore);
                }
                (self.arrivals, self.moves) = Default::default();
                self.model.exit(Exit::Return);
            }
            Expr::Break(left) => {
                let target = self.find_target(left.label.as_ref(), left.label.is_some());
                let (id, dest, depth) = target
                    .map_or((None, Dest::Ignore, 0), |target| (Some(target.id), target.dest.clone(), target.depth));
                let is_block = left.label.is_some() && matches!(left.expr.as_deref(), Some(Expr::Macro(_)));
                if let Some(value) = &mut left.expr
                    && self.walk_into(value, &dest)
                {
                    self.arrive(&dest);
                }
                if let Some(value) = left.expr.as_deref_mut().filter(|_| is_block && self.output.is_some()) {
                    // To rustc a block behind a label looks like a labelled block.
                    *value = Expr::Verbatim(quote!((#value)));
                }
                let written = self.leave(depth, left.break_token.span);
                if let Some(id) = id {
                    self.model.exit(Exit::Break(id));
                }
                if !written.is_empty() {
                    let (label, value) = (&left.label, &left.expr);
                    *expr = Expr::Verbatim(match value {
                        Some(value) => {
                            let name = syn::Ident::new("__value", Span::mixed_site().located_at(first::of(value)));
                            quote!({ let #name = #value; #(#written)* break #label #name })
                        }
                        None => quote!({ #(#written)* break #label }),
                    });
                }
            }
            Expr::Continue(left) => {
                let target = self.find_target(left.label.as_ref(), false);
                let (id, depth) = target.map_or((None, 0), |target| (Some(target.id), target.depth));
                let written = self.leave(depth, left.continue_token.span);
                if let Some(id) = id {
                    self.model.exit(Exit::Continue(id));
                }
                if !written.is_empty() {
                    let label = &left.label;
                    *expr = Expr::Verbatim(quote!({ #(#written)* continue #label }));
                }
            }
            Expr::Yield(yielded) => {
                if let Some(value) = &mut yielded.expr {
                    self.value(value);
                }
            }
            _ => {}
        }
    }

    /// Leaves the blocks deeper than `depth`: what they touch without showing it is recorded here.
    fn leave(&mut self, depth: usize, span: Span) -> Vec<TokenStream> {
        let effects: Vec<Access> = self.effects.iter().skip(depth).flatten().cloned().collect();
        effects.into_iter().for_each(|access| self.model.touch(access));
        self.point(span)
    }

    fn find_target(&self, label: Option<&Lifetime>, any: bool) -> Option<&Target> {
        let wanted = label.map(|label| &label.ident);
        self.targets.iter().rev().find(|target| match wanted {
            Some(_) => target.label.as_ref() == wanted,
            None => any || target.is_loop,
        })
    }
}

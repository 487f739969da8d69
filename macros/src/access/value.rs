//! Expressions: the uses in them, and the calls that may launch something.

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{BinOp, Expr, ExprMacro, Token, Type, UnOp};

use super::place::{Usage, bare, root};
use super::rules::{self, Callee, Method};
use super::{Dest, Use, Value, Walk};
use crate::emit::place;
use crate::first;
use crate::model::{Access, Exit, Mode, Op};
use crate::resolve::Reach;

impl Walk<'_, '_> {
    /// Walks an expression whose value somebody else uses.
    pub(super) fn value(&mut self, expr: &mut Expr) -> Value {
        self.operand(expr, Usage::Value)
    }

    /// Walks an expression that is used like this, if it is a place.
    pub(super) fn operand(&mut self, expr: &mut Expr, usage: Usage) -> Value {
        match self.place(expr) {
            Some(place) => self.used(place, usage),
            None => self.computed(expr, usage),
        }
    }

    fn computed(&mut self, expr: &mut Expr, usage: Usage) -> Value {
        match expr {
            Expr::Paren(paren) => self.operand(&mut paren.expr, usage),
            Expr::Group(group) => self.operand(&mut group.expr, usage),
            Expr::Lit(_) | Expr::Infer(_) | Expr::Const(_) => Value::host(),
            // Not a variable: a constant, which holds no data, or a function, which may launch when it is called.
            Expr::Path(path) => {
                let last = path.path.segments.last();
                let lazy = last.is_some_and(|last| !rules::is_constant(&last.ident));
                // `None` may become `Some`.
                Value { host: last.is_none_or(|last| last.ident != "None"), lazy, ..Value::default() }
            }
            Expr::Field(field) => self.operand(&mut field.base, usage),
            Expr::Index(index) => {
                let value = self.operand(&mut index.expr, usage);
                self.value(&mut index.index);
                value
            }
            Expr::Reference(reference) => {
                let usage = if reference.mutability.is_some() { Usage::BorrowMut } else { Usage::Borrow };
                self.operand(&mut reference.expr, usage)
            }
            Expr::RawAddr(address) => self.operand(&mut address.expr, Usage::BorrowMut),
            Expr::Try(tried) => Value { lazy: false, ..self.operand(&mut tried.expr, usage) },
            Expr::Await(awaited) => self.value(&mut awaited.base),
            Expr::Cast(cast) => {
                let value = self.value(&mut cast.expr);
                if rules::is_host_type(&cast.ty) && !matches!(*cast.ty, Type::Reference(_)) {
                    Value::host()
                } else {
                    value
                }
            }
            Expr::Tuple(tuple) => self.all(&mut tuple.elems),
            Expr::Array(array) if array.elems.is_empty() => Value::default(),
            Expr::Array(array) => self.all(&mut array.elems),
            Expr::Repeat(repeat) => self.value(&mut repeat.expr),
            Expr::Struct(literal) => {
                let fields = literal.fields.iter_mut().map(|field| &mut field.expr);
                let rest = literal.rest.as_deref_mut();
                self.all(fields.chain(rest))
            }
            Expr::Range(range) => self.all(range.start.as_deref_mut().into_iter().chain(range.end.as_deref_mut())),
            Expr::Unary(unary) if matches!(unary.op, UnOp::Deref(_)) => self.operand(&mut unary.expr, usage),
            Expr::Unary(_) => self.call(expr),
            Expr::Binary(binary) if matches!(binary.op, BinOp::And(_) | BinOp::Or(_)) => {
                self.value(&mut binary.left);
                self.model.open();
                self.value(&mut binary.right);
                let right = self.model.close();
                self.model.branch(vec![right, Vec::new()]);
                Value::host()
            }
            Expr::Binary(_) | Expr::Call(_) | Expr::MethodCall(_) => self.call(expr),
            Expr::Assign(assign) => {
                let dest = self.assigned(&mut assign.left);
                if self.walk_into(&mut assign.right, &dest) {
                    self.arrive(&dest);
                }
                Value::host()
            }
            Expr::Macro(_) => self.macro_call(expr),
            Expr::Closure(closure) => {
                let inputs: Vec<_> = closure.inputs.iter().cloned().collect();
                self.captures(|walk| {
                    for input in &inputs {
                        let bound = walk.seen.scopes.pattern(input, walk.model.now());
                        walk.declare(&bound.vars());
                        walk.seen.scopes.reveal(&bound.vars());
                    }
                    walk.used_up(&mut closure.body);
                })
            }
            Expr::Async(block) => self.captures(|walk| {
                walk.block(&mut block.block, &Dest::Ignore, false);
            }),
            Expr::Verbatim(tokens) => self.tokens(tokens.clone()),
            Expr::Break(_) | Expr::Continue(_) | Expr::Return(_) | Expr::Yield(_) => {
                self.exit(expr);
                Value::host()
            }
            Expr::Let(_) => {
                self.chain(expr);
                Value::host()
            }
            _ => self.block_operand(expr),
        }
    }

    fn all<'e>(&mut self, parts: impl IntoIterator<Item = &'e mut Expr>) -> Value {
        let parts = parts.into_iter().map(|part| self.value(part)).collect();
        Value::of(parts)
    }

    /// Walks an expression of which only the uses matter.
    fn used_up(&mut self, expr: &mut Expr) {
        let value = self.value(expr);
        value.uses.into_iter().for_each(|used| self.model.touch(used.access));
    }

    /// The destination of an assignment.
    fn assigned(&mut self, left: &mut Expr) -> Dest {
        match left {
            Expr::Tuple(tuple) => Dest::Tuple(tuple.elems.iter_mut().map(|part| self.assigned(part)).collect()),
            Expr::Paren(paren) => self.assigned(&mut paren.expr),
            Expr::Infer(_) => Dest::Discard,
            _ => match self.place(left) {
                Some(place) => {
                    let itself = Access { mode: Mode::Write, ..place.clone() };
                    // A variable itself is given another value; what lies behind a borrow, or a part of it, is overwritten.
                    let lent = match bare(left) {
                        Expr::Path(_) => Vec::new(),
                        _ => self.reached(place, Mode::Write, None, false),
                    };
                    let lent = lent.into_iter().map(|used| used.access);
                    let lent = lent.filter(|access| access.mode == Mode::Write && access.part.is_some());
                    let lent = lent.map(|access| Access { whole: false, ..access });
                    Dest::To(std::iter::once(itself).chain(lent).collect())
                }
                None => {
                    self.value(left);
                    Dest::Ignore
                }
            },
        }
    }

    /// A call, method call or operator.
    fn call(&mut self, expr: &mut Expr) -> Value {
        let known = Known::of(expr);
        let assigns = matches!(expr, Expr::Binary(binary) if is_assignment(&binary.op));
        let compares = matches!(expr, Expr::Binary(binary) if is_comparison(&binary.op));
        let mut parts = Vec::new();
        let mut last_launch = None;
        if let Expr::Call(call) = expr
            && let Expr::Path(_) = &*call.func
        {
            // A function that is named is no data; a variable may be a closure.
            let callee = self.value(&mut call.func);
            parts.push(Value { lazy: false, ..callee });
        }
        for (i, operand) in place::operands(expr).into_iter().enumerate() {
            let before = self.launches;
            let usage = match known {
                Known::Method(Method { lends_mutably, clones, takes, .. }) if i == 0 => {
                    if clones {
                        Usage::Clone
                    } else if takes {
                        Usage::Take
                    } else {
                        Usage::Receiver { lends_mutably }
                    }
                }
                _ if assigns && i == 0 => Usage::Write,
                _ => Usage::Value,
            };
            parts.push(self.operand(operand, usage));
            if self.launches > before {
                last_launch = Some(i);
            }
        }
        if let (Known::Method(Method { clones: true, .. }), Some(original)) = (known, parts.first_mut()) {
            // Of whatever the original is a borrow of: the clone outlives the borrow.
            original.uses.iter_mut().for_each(|used| used.moves = true);
            original.shares = original.uses.iter().map(|used| used.access.clone()).collect();
        }
        if let (Known::Method(Method { stores: true, .. }), Expr::MethodCall(call)) = (known, &*expr)
            && let Some(var) = root(&self.seen.scopes, &call.receiver)
        {
            self.learn(&Access::new(var, Mode::Write), &Value::of(parts[1..].to_vec()));
        }
        let mut value = Value::of(parts);
        match known {
            Known::Method(Method { describes: true, .. }) | Known::Callee(Callee::Drops) => return Value::host(),
            Known::Callee(Callee::Empty) => return Value::default(),
            Known::Callee(Callee::Wraps) => return value,
            Known::Method(Method { hands_on: true, indexes, .. }) => return Value { indexed: indexes, ..value },
            // Host data alone: an operator or method of numbers. A function may make data out of a shape.
            Known::Operator | Known::Method(_) if value.host && !value.lazy => return Value::host(),
            _ => {}
        }
        let is_host = compares || assigns;
        let holds = if is_host { Vec::new() } else { self.held(&mut value) };
        let expects = self.launch(value.uses, first::of(expr));
        place::before_call(expr, last_launch, expects);
        if is_host {
            return Value::host();
        }
        let lazy = value.lazy && !matches!(known, Known::Method(Method { consumes: true, .. }));
        Value { fresh: true, lazy, holds, ..Value::default() }
    }

    fn macro_call(&mut self, expr: &mut Expr) -> Value {
        let Expr::Macro(ExprMacro { mac, .. }) = expr else { return Value::default() };
        if mac.path.segments.last().is_some_and(|last| last.ident == "stream") {
            return self.block_operand(expr);
        }
        if mac.path.is_ident("vec")
            && let Ok(mut elements) = Punctuated::<Expr, Token![,]>::parse_terminated.parse2(mac.tokens.clone())
            && elements.iter().all(|element| matches!(bare(element), Expr::Path(_) | Expr::Lit(_) | Expr::Reference(_)))
        {
            return if elements.is_empty() { Value::default() } else { self.all(&mut elements) };
        }
        let diverges = rules::diverges(&mac.path);
        let mut value = self.tokens(mac.tokens.clone());
        let span = first::of_path(&mac.path);
        let holds = self.held(&mut value);
        let expects = self.launch(value.uses, span);
        place::before_call(expr, None, expects);
        if diverges {
            self.model.exit(Exit::Return);
        }
        Value { fresh: true, holds, ..Value::default() }
    }

    /// Tokens that are not understood: each name that is a variable is passed by value, or written if it can be.
    fn tokens(&self, tokens: TokenStream) -> Value {
        let mut uses = Vec::new();
        self.scan(tokens, &mut uses);
        Value { fresh: true, uses, ..Value::default() }
    }

    fn scan(&self, tokens: TokenStream, uses: &mut Vec<Use>) {
        let mut after_dot = false;
        for token in tokens {
            match &token {
                TokenTree::Group(group) => self.scan(group.stream(), uses),
                TokenTree::Ident(name) if !after_dot => {
                    if let Some(var) = self.seen.scopes.get(name) {
                        let facts = self.seen.scopes.facts(var);
                        let usage = if facts.mutable { Usage::BorrowMut } else { Usage::Value };
                        uses.extend(self.used(Access::new(var, Mode::Read), usage).uses);
                    }
                }
                TokenTree::Literal(literal) => {
                    for name in names_in_format(&literal.to_string()) {
                        if let Some(var) = self.seen.scopes.named(name) {
                            uses.extend(self.used(Access::new(var, Mode::Read), Usage::Borrow).uses);
                        }
                    }
                }
                _ => {}
            }
            after_dot = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '.');
        }
    }

    /// What a closure or an `async` block captures counts as used where it is made, and whenever it is used.
    fn captures(&mut self, body: impl FnOnce(&mut Self)) -> Value {
        let first = self.seen.scopes.next();
        let statement = std::mem::take(&mut self.statement);
        let targets = std::mem::take(&mut self.targets);
        let (arrivals, moves) = (std::mem::take(&mut self.arrivals), std::mem::take(&mut self.moves));
        let effects = std::mem::take(&mut self.effects);
        let launches = self.launches;
        self.model.open();
        self.seen.scopes.enter();
        self.captures += 1;
        body(self);
        self.captures -= 1;
        self.point(Span::call_site());
        self.seen.scopes.leave();
        let inside = self.model.close();
        self.launches = launches;
        self.effects = effects;
        (self.arrivals, self.moves) = (arrivals, moves);
        self.targets = targets;
        self.statement = statement;

        let mut touched = Vec::new();
        collect(&inside, &mut touched);
        let mut uses: Vec<Use> = Vec::new();
        for access in touched.into_iter().filter(|access| access.var < first) {
            let lends = Some(if access.mode == Mode::Write { Reach::Write } else { Reach::Read });
            if !uses.iter().any(|used| used.access == access) {
                uses.push(Use { access, lends, moves: false });
            }
        }
        Value { lazy: true, uses, ..Value::default() }
    }
}

/// All that a sequence touches.
fn collect(seq: &[Op], touched: &mut Vec<Access>) {
    for op in seq {
        match op {
            Op::Launch(node) => touched.extend(node.accesses.iter().cloned()),
            Op::Touch(access) => touched.push(access.clone()),
            Op::Point(point) => touched.extend(point.defines.iter().cloned()),
            Op::Move(moved) => touched.extend([Access { mode: Mode::Read, ..moved.from.clone() }, moved.to.clone()]),
            Op::Branch { arms, .. } => arms.iter().for_each(|arm| collect(arm, touched)),
            Op::Loop { body, .. } | Op::Labelled { body, .. } => collect(body, touched),
            Op::Declare(_) | Op::Begin(_) | Op::End(_) | Op::Exit(_) => {}
        }
    }
}

/// What a call looks like.
#[derive(Clone, Copy, Debug)]
enum Known {
    Operator,
    Callee(Callee),
    Method(Method),
}

impl Known {
    fn of(expr: &Expr) -> Known {
        match expr {
            Expr::MethodCall(call) => Known::Method(rules::method(&call.method)),
            Expr::Call(call) => match bare(&call.func) {
                Expr::Path(path) => Known::Callee(rules::callee(&path.path)),
                _ => Known::Callee(Callee::Unknown),
            },
            _ => Known::Operator,
        }
    }
}

fn is_assignment(op: &BinOp) -> bool {
    matches!(
        op,
        BinOp::AddAssign(_)
            | BinOp::SubAssign(_)
            | BinOp::MulAssign(_)
            | BinOp::DivAssign(_)
            | BinOp::RemAssign(_)
            | BinOp::BitXorAssign(_)
            | BinOp::BitAndAssign(_)
            | BinOp::BitOrAssign(_)
            | BinOp::ShlAssign(_)
            | BinOp::ShrAssign(_)
    )
}

fn is_comparison(op: &BinOp) -> bool {
    matches!(op, BinOp::Eq(_) | BinOp::Ne(_) | BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_))
}

/// The names in the braces of a format string.
fn names_in_format(literal: &str) -> impl Iterator<Item = &str> {
    literal.split('{').skip(1).map(|rest| {
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        &rest[..end]
    })
}

/// Is a block of a stream in it, as far as its value is concerned?
pub(super) fn has_block(expr: &Expr) -> bool {
    struct Find(bool);
    impl<'a> syn::visit::Visit<'a> for Find {
        fn visit_macro(&mut self, mac: &'a syn::Macro) {
            self.0 |= mac.path.segments.last().is_some_and(|last| last.ident == "stream");
        }
        fn visit_item(&mut self, _: &'a syn::Item) {}
        fn visit_expr_closure(&mut self, _: &'a syn::ExprClosure) {}
    }
    let mut find = Find(false);
    syn::visit::Visit::visit_expr(&mut find, expr);
    find.0
}

//! Places: variables and the fields of variables, and what a use of one touches.

use quote::ToTokens;
use syn::ext::IdentExt;
use syn::{Expr, Member, UnOp};

use super::{Use, Value, Walk};
use crate::model::{Access, Mode, VarId, copied};
use crate::resolve::{Alias, Reach, Scopes};

/// How an expression uses a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Usage {
    /// As a value: copied or moved.
    Value,
    /// `x.unwrap()`: the value is handed on.
    Take,
    /// `x.clone()`: shares memory with the place until one of the two is written.
    Clone,
    /// `&x`
    Borrow,
    /// `&mut x`
    BorrowMut,
    /// `x.method()`, which may lend what it borrows mutably.
    Receiver { lends_mutably: bool },
    /// `match x {}`: as a value or borrowed, as the patterns say.
    Match,
    /// `x += ..`
    Write,
}

/// Without parentheses.
pub(super) fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Paren(paren) => bare(&paren.expr),
        Expr::Group(group) => bare(&group.expr),
        _ => expr,
    }
}

/// The variable that a place expression names or is a part of.
pub(super) fn root(scopes: &Scopes, expr: &Expr) -> Option<VarId> {
    match bare(expr) {
        Expr::Path(path) if path.qself.is_none() => scopes.get(path.path.get_ident()?),
        Expr::Field(field) => root(scopes, &field.base),
        Expr::Index(index) => root(scopes, &index.expr),
        Expr::Unary(unary) if matches!(unary.op, UnOp::Deref(_)) => root(scopes, &unary.expr),
        _ => None,
    }
}

impl Walk<'_, '_> {
    /// The place that an expression names, if it is one; index expressions in it are walked.
    pub(super) fn place(&mut self, expr: &mut Expr) -> Option<Access> {
        root(&self.seen.scopes, expr).map(|var| {
            let mut place = Access::new(var, Mode::Read);
            self.follow(expr, &mut place);
            place
        })
    }

    /// Adds the fields of a place expression to its root.
    fn follow(&mut self, expr: &mut Expr, place: &mut Access) {
        match expr {
            Expr::Paren(paren) => self.follow(&mut paren.expr, place),
            Expr::Group(group) => self.follow(&mut group.expr, place),
            Expr::Unary(unary) => self.follow(&mut unary.expr, place),
            Expr::Field(field) => {
                self.follow(&mut field.base, place);
                if place.whole {
                    place.path.push(self.field(&field.member));
                }
            }
            Expr::Index(index) => {
                self.follow(&mut index.expr, place);
                // An element: as good as the whole, except that writing it leaves the others as they are.
                place.whole = false;
                self.value(&mut index.index);
            }
            _ => {}
        }
    }

    /// The fields of a place, if it is one that always means the same: for streams, and for `after` and its like.
    pub(super) fn fixed_place(&mut self, expr: &Expr) -> Option<Access> {
        match bare(expr) {
            Expr::Path(path) if path.qself.is_none() => {
                let var = self.seen.scopes.get(path.path.get_ident()?)?;
                Some(Access::new(var, Mode::Read))
            }
            Expr::Field(field) => {
                let mut place = self.fixed_place(&field.base)?;
                place.path.push(self.field(&field.member));
                Some(place)
            }
            _ => None,
        }
    }

    fn field(&mut self, member: &Member) -> u32 {
        let name = match member {
            Member::Named(name) => name.unraw().to_string(),
            Member::Unnamed(index) => index.to_token_stream().to_string(),
        };
        let next = self.fields.len() as u32;
        *self.fields.entry(name).or_insert(next)
    }

    /// The value of a place.
    pub(super) fn used(&self, place: Access, usage: Usage) -> Value {
        let facts = self.seen.scopes.facts(place.var);
        let writable = facts.mutable || facts.exclusive;
        let mode = match usage {
            Usage::Value if facts.exclusive => Mode::Write,
            Usage::Value | Usage::Take | Usage::Clone | Usage::Borrow | Usage::Match => Mode::Read,
            Usage::Receiver { lends_mutably: false } if !writable => Mode::Read,
            Usage::Receiver { .. } | Usage::BorrowMut | Usage::Write => Mode::Write,
        };
        let lends = match usage {
            Usage::Value if facts.exclusive => Some(Reach::Same),
            Usage::Value | Usage::Take | Usage::Write => None,
            Usage::BorrowMut | Usage::Receiver { lends_mutably: true } => Some(Reach::Same),
            Usage::Match if writable => Some(Reach::Same),
            Usage::Clone | Usage::Borrow | Usage::Match | Usage::Receiver { .. } => Some(Reach::Read),
        };
        let moves = matches!(usage, Usage::Value | Usage::Take | Usage::Clone | Usage::Match);
        let host = facts.is_host();
        let shares = if usage == Usage::Clone && !host { vec![place.clone()] } else { Vec::new() };
        Value { host, lazy: facts.lazy, uses: self.reached(place, mode, lends, moves), shares, ..Value::default() }
    }

    /// What a value computed from this one may hold a borrow of. What nobody can write meanwhile does not matter.
    pub(super) fn held(&mut self, value: &mut Value) -> Vec<Alias> {
        if self.is_writing() {
            return Vec::new();
        }
        let mut held = Vec::with_capacity(value.uses.len() + value.holds.len());
        self.met.clear();
        let (scopes, met) = (&self.seen.scopes, &mut self.met);
        let can_be_written = |var: VarId| scopes.facts(var).mutable || scopes.facts(var).exclusive;
        for used in &value.uses {
            if let Some(reach) = used.lends
                && can_be_written(used.access.var)
            {
                let Access { var, ref path, part, .. } = used.access;
                met.insert(&mut held, Alias { var, path: copied(path), part, reach }, var);
            }
        }
        for alias in std::mem::take(&mut value.holds) {
            let var = alias.var;
            if can_be_written(var) {
                met.insert(&mut held, alias, var);
            }
        }
        held
    }

    /// An access of a place, and of all that its variable may hold a borrow of.
    pub(super) fn reached(&self, place: Access, mode: Mode, lends: Option<Reach>, moves: bool) -> Vec<Use> {
        let scopes = &self.seen.scopes;
        let facts = scopes.facts(place.var);
        let mut uses = Vec::with_capacity(1 + facts.aliases.len());
        let is_data = |var: VarId| scopes.is_alive(var) && !scopes.facts(var).is_host();
        if is_data(place.var) {
            uses.push(Use { access: Access { mode, ..place }, lends, moves });
        }
        for alias in &facts.aliases {
            if !is_data(alias.var) {
                continue;
            }
            let mode = match alias.reach {
                Reach::Read => Mode::Read,
                Reach::Same => mode,
                Reach::Write => Mode::Write,
            };
            let part = alias.part.or(facts.part);
            let access = Access { var: alias.var, path: copied(&alias.path), mode, whole: true, part };
            let lends = match alias.reach {
                Reach::Read => Some(Reach::Read),
                reach => lends.or(Some(reach)),
            };
            uses.push(Use { access, lends, moves: false });
        }
        uses
    }
}

//! Which binding a name means, and what is known about the binding.
//!
//! In: patterns and names in source order. Out: a [`VarId`] per binding. Scoping is Rust's: a name means the innermost
//! binding, and patterns come into scope when their statement is over ([`Scopes::reveal`]).

use std::collections::HashMap;

use syn::ext::IdentExt;
use syn::{FnArg, Ident, Pat, Receiver, ReceiverKind, Type};

use crate::access::rules;
use crate::model::{Part, Position, VarId, copied};

/// How far the accesses of a name reach what it was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// All of them read it.
    Read,
    /// They do to it what they do to the name.
    Same,
    /// All of them write it.
    Write,
}

/// A place that a name may hold a borrow of.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Alias {
    pub(crate) var: VarId,
    pub(crate) path: Vec<u32>,
    pub(crate) part: Option<Part>,
    pub(crate) reach: Reach,
}

impl Clone for Alias {
    fn clone(&self) -> Alias {
        Alias { path: copied(&self.path), ..*self }
    }
}

/// What is known about a binding.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) name: String,
    /// `mut`.
    pub(crate) mutable: bool,
    /// May be, or hold, a mutable borrow.
    pub(crate) exclusive: bool,
    /// Its type says that it holds no data of a device.
    pub(crate) stated_host: bool,
    /// It was given a value; one that may be data.
    pub(crate) given: bool,
    pub(crate) given_data: bool,
    /// An iterator that may launch something at each step.
    pub(crate) lazy: bool,
    pub(crate) aliases: Vec<Alias>,
    /// Which of the names of its pattern it is.
    pub(crate) part: Option<Part>,
    pub(crate) since: Position,
}

impl Facts {
    /// Is it surely no data of a device?
    pub(crate) fn is_host(&self) -> bool {
        self.stated_host || self.given && !self.given_data
    }
}

/// The bindings of a function, and those that can be named now.
///
/// A function is read several times; bindings get the same number each time, and keep what was found out about them.
#[derive(Debug, Default)]
pub(crate) struct Scopes {
    facts: Vec<Facts>,
    next: usize,
    groups: u32,
    names: HashMap<String, Vec<VarId>>,
    open: Vec<Scope>,
    dead: Vec<bool>,
    /// Something was found out about a variable after it had been used.
    pub(crate) stale: bool,
}

/// What ends with a scope.
#[derive(Debug, Default)]
struct Scope {
    names: Vec<String>,
    vars: Vec<VarId>,
}

/// The names a pattern binds, in the shape of the pattern as far as that is a tuple.
#[derive(Clone, Debug)]
pub(crate) enum Bound {
    Nothing,
    One(VarId),
    Tuple(Vec<Bound>),
    Many(Vec<VarId>),
}

impl Bound {
    pub(crate) fn vars(&self) -> Vec<VarId> {
        match self {
            Bound::Nothing => Vec::new(),
            Bound::One(var) => vec![*var],
            Bound::Tuple(parts) => parts.iter().flat_map(Bound::vars).collect(),
            Bound::Many(vars) => vars.clone(),
        }
    }
}

impl Scopes {
    /// Starts over.
    pub(crate) fn rewind(&mut self) {
        let facts = std::mem::take(&mut self.facts);
        *self = Scopes { facts, ..Scopes::default() };
    }

    pub(crate) fn enter(&mut self) {
        self.open.push(Scope::default());
    }

    pub(crate) fn leave(&mut self) {
        let Scope { names, vars } = self.open.pop().unwrap_or_default();
        for name in names {
            if let Some(vars) = self.names.get_mut(&name) {
                vars.pop();
            }
        }
        vars.into_iter().for_each(|var| self.dead[var.index()] = true);
    }

    /// Has the variable's scope begun and not ended yet?
    pub(crate) fn is_alive(&self, var: VarId) -> bool {
        self.dead.get(var.index()) == Some(&false)
    }

    pub(crate) fn get(&self, name: &Ident) -> Option<VarId> {
        let name = name.to_string();
        self.named(name.strip_prefix("r#").unwrap_or(&name))
    }

    pub(crate) fn named(&self, name: &str) -> Option<VarId> {
        self.names.get(name)?.last().copied()
    }

    pub(crate) fn facts(&self, var: VarId) -> &Facts {
        &self.facts[var.index()]
    }

    pub(crate) fn facts_mut(&mut self, var: VarId) -> &mut Facts {
        &mut self.facts[var.index()]
    }

    /// The number that the next binding will have.
    pub(crate) fn next(&self) -> VarId {
        VarId(self.next as u32)
    }

    /// A new binding, which cannot be named yet.
    pub(crate) fn bind(&mut self, name: String, since: Position) -> VarId {
        if self.next == self.facts.len() {
            self.facts.push(Facts {
                name,
                mutable: false,
                exclusive: false,
                stated_host: false,
                given: false,
                given_data: false,
                lazy: false,
                aliases: Vec::new(),
                part: None,
                since,
            });
        }
        let var = self.next();
        self.next += 1;
        self.dead.push(false);
        self.facts_mut(var).since = since;
        if let Some(scope) = self.open.last_mut() {
            scope.vars.push(var);
        }
        var
    }

    /// From here on the names can be used.
    pub(crate) fn reveal(&mut self, vars: &[VarId]) {
        for &var in vars {
            let name = self.facts(var).name.clone();
            match self.names.get_mut(&name) {
                Some(vars) => vars.push(var),
                None => drop(self.names.insert(name.clone(), vec![var])),
            }
            if let Some(scope) = self.open.last_mut() {
                scope.names.push(name);
            }
        }
    }

    /// The bindings of a pattern, which cannot be named yet.
    pub(crate) fn pattern(&mut self, pattern: &Pat, since: Position) -> Bound {
        let group = self.groups;
        self.groups += 1;
        let bound = Pattern { scopes: self, since, names: Vec::new() }.bind(pattern);
        let vars = bound.vars();
        for (name, &var) in vars.iter().enumerate() {
            self.facts_mut(var).part = Some(Part { group, name: name as u32 });
        }
        bound
    }

    /// The parameters of a function, which have a value from the start.
    pub(crate) fn parameter(&mut self, argument: &FnArg) -> Vec<VarId> {
        let vars = self.parameter_names(argument);
        for &var in &vars {
            let facts = self.facts_mut(var);
            (facts.given, facts.given_data) = (true, true);
        }
        vars
    }

    fn parameter_names(&mut self, argument: &FnArg) -> Vec<VarId> {
        match argument {
            FnArg::Typed(typed) => {
                let bound = self.pattern(&typed.pat, 0);
                let vars = bound.vars();
                vars.iter().for_each(|&var| self.typed(var, &typed.ty));
                vars
            }
            FnArg::Receiver(Receiver { mutability, kind, .. }) => {
                let var = self.bind("self".to_owned(), 0);
                match kind {
                    ReceiverKind::Reference(_, _, exclusive) => self.facts_mut(var).exclusive = exclusive.is_some(),
                    ReceiverKind::Typed(_, ty) => self.typed(var, ty),
                    _ => {}
                }
                self.facts_mut(var).mutable = mutability.is_some();
                vec![var]
            }
        }
    }

    fn typed(&mut self, var: VarId, ty: &Type) {
        let facts = self.facts_mut(var);
        facts.exclusive |= matches!(ty, Type::Reference(reference) if reference.mutability.is_some());
        facts.lazy |= matches!(ty, Type::ImplTrait(_));
        facts.stated_host |= rules::is_host_type(ty);
    }
}

struct Pattern<'s> {
    scopes: &'s mut Scopes,
    since: Position,
    names: Vec<(String, VarId)>,
}

impl Pattern<'_> {
    fn bind(&mut self, pattern: &Pat) -> Bound {
        match pattern {
            Pat::Ident(ident) => {
                let inner = ident.subpat.as_ref().map_or(Bound::Nothing, |(_, pattern)| self.bind(pattern));
                let plain = ident.by_ref.is_none() && ident.mutability.is_none() && ident.subpat.is_none();
                if plain && rules::is_constant(&ident.ident) {
                    return Bound::Nothing;
                }
                let var = self.name(&ident.ident);
                let facts = self.scopes.facts_mut(var);
                if ident.by_ref.is_some() {
                    facts.exclusive |= ident.mutability.is_some();
                } else {
                    facts.mutable |= ident.mutability.is_some();
                }
                match inner {
                    Bound::Nothing => Bound::One(var),
                    inner => Bound::Many([vec![var], inner.vars()].concat()),
                }
            }
            Pat::Tuple(tuple) if !tuple.elems.iter().any(|p| matches!(p, Pat::Rest(_))) => {
                Bound::Tuple(tuple.elems.iter().map(|p| self.bind(p)).collect())
            }
            Pat::Tuple(tuple) => self.all(&tuple.elems),
            Pat::Paren(paren) => self.bind(&paren.pat),
            Pat::Reference(reference) => self.bind(&reference.pat),
            Pat::Type(typed) => {
                let bound = self.bind(&typed.pat);
                bound.vars().into_iter().for_each(|var| self.scopes.typed(var, &typed.ty));
                bound
            }
            Pat::TupleStruct(tuple) if tuple.elems.len() == 1 => match self.bind(&tuple.elems[0]) {
                // `Some(x)`, `Ok(x)`: what is inside is the value.
                Bound::Tuple(parts) => Bound::Many(parts.iter().flat_map(Bound::vars).collect()),
                bound => bound,
            },
            Pat::TupleStruct(tuple) => self.all(&tuple.elems),
            Pat::Slice(slice) => self.all(&slice.elems),
            Pat::Struct(fields) => self.all(fields.fields.iter().map(|field| &*field.pat)),
            Pat::Or(or) => self.all(&or.cases),
            Pat::Guard(guard) => self.bind(&guard.pat),
            _ => Bound::Nothing,
        }
    }

    fn all<'p>(&mut self, patterns: impl IntoIterator<Item = &'p Pat>) -> Bound {
        let mut vars: Vec<VarId> = patterns.into_iter().flat_map(|p| self.bind(p).vars()).collect();
        vars.sort_unstable();
        vars.dedup();
        match vars[..] {
            [] => Bound::Nothing,
            _ => Bound::Many(vars),
        }
    }

    /// The binding of a name; the cases of an `|` pattern share theirs.
    fn name(&mut self, ident: &Ident) -> VarId {
        let name = ident.unraw().to_string();
        if let Some((_, var)) = self.names.iter().find(|(known, _)| *known == name) {
            return *var;
        }
        let var = self.scopes.bind(name.clone(), self.since);
        self.names.push((name, var));
        var
    }
}

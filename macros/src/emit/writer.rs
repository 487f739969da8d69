//! Writes what the plan says: variables for events, expectations, records, and the heads of blocks.
//!
//! Every name made here has the macro's hygiene (`mixed_site`), so it cannot meet a name of the author's. What can be
//! wrong with the author's code is spanned as the author's. Types are reached through `__multicore`, which the function
//! begins with: items have no hygiene, so it is the one name that the author can see.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Expr, Token};

use crate::first;
use crate::model::{MoveId, NodeId, PointId, VarId};
use crate::parse::StreamBlock;
use crate::plan::{Plan, Update, WaitKind};
use crate::resolve::Scopes;

#[derive(Debug)]
pub(crate) struct Writer<'p> {
    plan: &'p Plan,
    /// Where an error type is reported that ours does not convert into.
    error: Span,
    /// The numbers of records, and of the first wait of each node, in the plan that is written.
    pub(crate) records: BTreeMap<PointId, u32>,
    waits: BTreeMap<NodeId, u32>,
    ready: BTreeMap<VarId, Ident>,
    names: HashMap<String, u32>,
    /// The variables for the events of parameters, which the function begins with.
    pub(crate) head: Vec<TokenStream>,
    /// How many blocks lie around.
    depth: u32,
    /// Code outside of all blocks expects or records something.
    pub(crate) uses_main: bool,
}

/// A name of the macro's own.
pub(crate) fn own(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

impl<'p> Writer<'p> {
    pub(crate) fn new(plan: &'p Plan, error: Span) -> Writer<'p> {
        let mut next = 0;
        let waits = plan.waits.iter().map(|(&node, waits)| {
            let first = next;
            next += waits.len() as u32;
            (node, first)
        });
        Writer {
            plan,
            error,
            records: plan.records.keys().copied().zip(0..).collect(),
            waits: waits.collect(),
            ready: BTreeMap::new(),
            names: ["__on", "__mc", "__value", "__event"].map(|name| (name.to_owned(), 1)).into(),
            head: Vec::new(),
            depth: 0,
            uses_main: false,
        }
    }

    /// The events of a variable, if somebody waits for one.
    pub(crate) fn declare(&mut self, var: VarId, scopes: &Scopes) -> Option<TokenStream> {
        if !self.plan.ready.contains(&var) {
            return None;
        }
        let name = format!("__{}", scopes.facts(var).name.trim_start_matches('_'));
        let count = self.names.entry(name.clone()).or_default();
        *count += 1;
        let ident = own(&if *count == 1 { name } else { format!("{name}_{count}") });
        self.ready.insert(var, ident.clone());
        Some(quote!(let mut #ident = __multicore::Ready::new();))
    }

    /// What a node waits for, an expression each.
    pub(crate) fn expects(&mut self, node: NodeId) -> Vec<TokenStream> {
        let Some(waits) = self.plan.waits.get(&node) else { return Vec::new() };
        self.uses_main |= self.depth == 0;
        let on = own("__on");
        let calls = waits.iter().zip(self.waits[&node]..).map(|(wait, number)| {
            let method = own(match (wait.kind, wait.mutable) {
                (WaitKind::Expect, false) => "expect",
                (WaitKind::Expect, true) => "expect_mut",
                (WaitKind::Wait, false) => "wait",
                (WaitKind::Wait, true) => "wait_mut",
            });
            let (number, ready) = (Literal::u32_unsuffixed(number), self.ready.get(&wait.var));
            quote!(#on.#method(#number, &#ready))
        });
        calls.collect()
    }

    /// What is recorded at a point, a statement each.
    pub(crate) fn record(&mut self, point: PointId) -> Vec<TokenStream> {
        let Some(variables) = self.plan.records.get(&point) else { return Vec::new() };
        self.uses_main |= self.depth == 0;
        let (on, event) = (own("__on"), own("__event"));
        let number = Literal::u32_unsuffixed(self.records[&point]);
        let update = |ready: Option<&Ident>, update: &Update, event: TokenStream| {
            let method = own(match update {
                Update::Read => "read",
                Update::MayWrite => "may_write",
                Update::Wrote => "wrote",
            });
            quote!(#ready.#method(&#event);)
        };
        let updates: Vec<(VarId, &BTreeSet<Update>)> = variables.iter().map(|(&var, updates)| (var, updates)).collect();
        if let [(var, updates)] = &updates[..]
            && let Some(only) = updates.first().filter(|_| updates.len() == 1)
        {
            return vec![update(self.ready.get(var), only, quote!(#on.record(#number)))];
        }
        let mut written = vec![quote!(let #event = #on.record(#number);)];
        for (var, updates) in updates {
            written.extend(updates.iter().map(|one| update(self.ready.get(&var), one, event.to_token_stream())));
        }
        written
    }

    /// A variable takes over the events of another.
    pub(crate) fn transfer(&mut self, id: MoveId, from: VarId, to: VarId, replaces: bool) -> Option<TokenStream> {
        if !self.plan.moves.contains(&id) {
            return None;
        }
        let (from, to) = (self.ready.get(&from)?, self.ready.get(&to)?);
        Some(if replaces { quote!(#to = #from.clone();) } else { quote!(#to.merge(&#from);) })
    }

    /// The head of a block.
    pub(crate) fn enter(&mut self, index: usize, block: &StreamBlock, is_main: bool) -> TokenStream {
        self.depth += 1;
        let (region, on) = (Ident::new("__mc", self.error), own("__on"));
        let index = Literal::usize_unsuffixed(index);
        // All in one piece: each piece that is put into another costs several calls of the compiler.
        let (cube, vector) = (block.cube.iter(), block.vector.iter());
        let question = Token![?](self.error);
        if is_main {
            return quote! {
                let #on = #region.on_main(
                    #index, __multicore::CoreLimit::NONE #(.with_cube(#cube))* #(.with_vector(#vector))*
                )#question;
            };
        }
        let stream = &block.stream;
        let span = first::of(stream);
        let borrow = (!matches!(stream, Expr::Reference(_))).then(|| Token![&](span));
        let in_parentheses = match stream {
            Expr::Reference(_)
            | Expr::Path(_)
            | Expr::Field(_)
            | Expr::Index(_)
            | Expr::Call(_)
            | Expr::MethodCall(_)
            | Expr::Paren(_) => None,
            stream => Some(quote_spanned!(span=> (#stream))),
        };
        let stream: &dyn ToTokens = in_parentheses.as_ref().map_or(stream, |stream| stream);
        quote! {
            let #on = #region.on(
                #index, #borrow #stream, __multicore::CoreLimit::NONE #(.with_cube(#cube))* #(.with_vector(#vector))*
            )#question;
        }
    }

    pub(crate) fn left(&mut self) {
        self.depth -= 1;
    }
}

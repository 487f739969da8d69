//! Statements: which one comes next, and those without others in them. Those with are in `compound`.

use crate::generate::function::Function;
use crate::generate::scope::{Frozen, Kind, Place};

/// How deep statements nest.
const DEEPEST: usize = 3;

/// The statements, by their numbers, that touch what they name, no more and no less, on every path.
///
/// No assignments: on another path than that of the inputs the value before is still there to wait for. No two values at
/// once: the first arrives with the second.
const EXACT: &[usize] = &[0, 1, 2, 3, 4, 7, 8, 9, 16, 17, 24, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 38, 40, 41];

/// Those without branches and loops.
const STRAIGHT: &[usize] = &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 17, 33, 34];

impl Function<'_> {
    /// Some statements with a scope of their own.
    pub(crate) fn statements(&mut self, depth: usize) {
        let variables = self.scope.0.len();
        self.statements_with(depth, variables);
    }

    /// Some statements; the variables from number `variables` on end with them.
    pub(crate) fn statements_with(&mut self, depth: usize, variables: usize) {
        self.indent += 1;
        for _ in 0..1 + self.random.below(3) {
            self.statement(depth + 1);
        }
        self.indent -= 1;
        self.scope.0.truncate(variables);
    }

    /// `f`, while a borrow leaves less of a variable.
    pub(crate) fn frozen(&mut self, root: usize, how: Frozen, f: impl FnOnce(&mut Self)) {
        let before = self.scope.0[root].frozen;
        self.scope.0[root].frozen = before.max(how);
        f(self);
        self.scope.0[root].frozen = before;
    }

    pub(crate) fn pick(&mut self, from: Vec<usize>) -> Option<usize> {
        (!from.is_empty()).then(|| from[self.random.below(from.len())])
    }

    pub(crate) fn name(&self, variable: usize) -> String {
        self.scope.0[variable].name.clone()
    }

    /// A variable that is moved.
    fn moved(&mut self, kind: Kind) -> Option<String> {
        let loops = self.loops;
        // `outs` is what an entry gives, and `base` is there for whoever needs anything.
        let movable = self
            .scope
            .movable(kind, loops)
            .into_iter()
            .filter(|&v| !["outs", "base"].contains(&self.name(v).as_str()))
            .collect();
        let variable = self.pick(movable)?;
        self.scope.0[variable].frozen = Frozen::Gone;
        Some(self.name(variable))
    }

    /// A statement; another one where nothing in scope fits.
    pub(crate) fn statement(&mut self, depth: usize) {
        let nested = depth < DEEPEST;
        for _ in 0..20 {
            let choice = self.random.below(if nested { 54 } else { 27 });
            let fits = match (self.straight, self.exact) {
                (true, _) => STRAIGHT.contains(&choice),
                (_, true) => EXACT.contains(&choice),
                _ => true,
            };
            if !fits {
                continue;
            }
            let done = match choice {
                0..=4 => self.define(),
                5..=6 => self.assign(),
                7..=9 => self.update(),
                10..=11 => self.store(),
                12 => self.define_two(),
                13 => self.assign_outside(),
                14 => self.last_element(),
                15 => self.update_by_call(),
                16 => self.fail(),
                17 => self.pair(),
                18 => self.give_away(),
                19 => self.maybe(),
                20 => self.swap(),
                21 => self.collect(),
                22 => self.host_only(),
                23 => self.filled(),
                24 => self.labelled_value(),
                25 => self.take_apart(),
                26 => self.early_return(),
                27..=29 => self.branch(depth),
                30..=32 => self.for_loop(depth),
                33..=34 => self.nested_block(depth),
                35 => self.choice(),
                36..=37 => self.if_let(depth),
                38 => self.while_loop(depth),
                39 => self.while_let(depth),
                40..=41 => self.loop_value(depth),
                42 => self.borrow(depth),
                43 => self.borrow_mut(depth),
                44..=45 => self.halves(),
                46 => self.closure(depth),
                47 => self.closure_mut(),
                48..=49 => self.for_each(depth),
                50 => self.let_else(),
                51 => self.guarded_match(depth),
                52 => self.fields_of(depth),
                _ => self.fill_list(),
            };
            if done.is_some() {
                return;
            }
        }
    }

    fn define(&mut self) -> Option<()> {
        let (header, value, name) = (self.header(), self.value(), self.fresh("t"));
        let mutable = self.random.chance(40);
        let keyword = if mutable { "let mut" } else { "let" };
        self.line(&format!("{keyword} {name} = stream!({header}, {{ {value} }});"));
        self.bind(&name, Kind::Tensor, mutable, launches(&value));
        Some(())
    }

    fn assign(&mut self) -> Option<()> {
        let (target, header, value) = (self.target()?, self.header(), self.value());
        self.line(&format!("stream!({header}, {{ {} = {value}; }});", target.expr));
        self.scope.0[target.root].produced &= launches(&value);
        Some(())
    }

    fn assign_outside(&mut self) -> Option<()> {
        let (target, value) = (self.target()?, self.value());
        self.line(&format!("let last = {value};"));
        self.line(&format!("{} = last;", target.expr));
        self.scope.0[target.root].produced &= launches(&value);
        Some(())
    }

    pub(crate) fn update(&mut self) -> Option<()> {
        let (target, header, c) = (self.target()?, self.header(), self.constant());
        let write = target.write();
        let call = match self.random.below(4) {
            0 => format!("affine_({write}, {c})?;"),
            1 => format!("{}.rescale_({c})?;", target.expr.trim_start_matches('*')),
            2 => format!("fill_({write}, {c})?;"),
            _ => format!("mix_({write}, {})?;", self.read_beside(&target)?),
        };
        self.line(&format!("stream!({header}, {{ {call} }});"));
        Some(())
    }

    fn update_by_call(&mut self) -> Option<()> {
        let target = self.target()?;
        let (call, header) = (self.call_update(&target)?, self.header());
        let statement =
            if self.random.chance(70) { format!("stream!({header}, {{ {call}; }});") } else { format!("{call};") };
        self.line(&statement);
        Some(())
    }

    fn store(&mut self) -> Option<()> {
        let list = self.pick(self.scope.of(&[Kind::List, Kind::Filled], true))?;
        let (list, header, value) = (self.name(list), self.header(), self.value());
        self.line(&format!("{list}.push(stream!({header}, {{ {value} }}));"));
        Some(())
    }

    fn define_two(&mut self) -> Option<()> {
        let (header, a, b) = (self.header(), self.value(), self.value());
        let (x, y) = (self.fresh("t"), self.fresh("u"));
        self.line(&format!("let ({x}, {y}) = stream!({header}, {{ let a = {a}; (a, {b}) }});"));
        self.bind(&x, Kind::Tensor, false, launches(&a));
        self.bind(&y, Kind::Tensor, false, launches(&b));
        Some(())
    }

    fn last_element(&mut self) -> Option<()> {
        let list = self.pick(self.scope.of(&[Kind::List, Kind::Filled], true))?;
        let all = Place { root: list, field: None, expr: String::new(), mutable: true };
        let target = self.target().filter(|target| !target.overlaps(&all))?;
        let (list, header, c) = (self.name(list), self.header(), self.constant());
        let target = target.expr;
        self.line(&format!(
            "stream!({header}, {{ if let Some(last) = {list}.last_mut() {{ affine_(last, {c})?; {target} = last.clone(); }} }});"
        ));
        Some(())
    }

    fn fail(&mut self) -> Option<()> {
        let header = self.header();
        match self.random.below(3) {
            0 => self.line("fail_if(flags.seldom())?;"),
            1 => self.line(&format!("stream!({header}, {{ fail_if(flags.seldom())?; }});")),
            _ => {
                let (value, name) = (self.value(), self.fresh("t"));
                self.line(&format!(
                    "let {name} = stream!({header}, {{ let made = {value}; fail_if(flags.seldom())?; made }});"
                ));
                self.bind(&name, Kind::Tensor, false, launches(&value));
            }
        }
        Some(())
    }

    fn pair(&mut self) -> Option<()> {
        let (header, a, b, name) = (self.header(), self.value(), self.value(), self.fresh("p"));
        let line = if self.exact {
            // To the macro, a structure is one value: it arrives where all of it is made, so the field that is used is the
            // last.
            format!("let mut {name} = stream!({header}, {{ Pair {{ right: {b}, left: {a} }} }});")
        } else {
            format!("let mut {name} = Pair {{ left: {a}, right: stream!({header}, {{ {b} }}) }};")
        };
        self.line(&line);
        self.bind(&name, Kind::Pair, true, true);
        Some(())
    }

    fn give_away(&mut self) -> Option<()> {
        let moved = self.moved(Kind::Tensor)?;
        let list = self.pick(self.scope.of(&[Kind::List, Kind::Filled], true));
        match (self.random.below(3), list) {
            (0, Some(list)) => {
                let list = self.name(list);
                self.line(&format!("{list}.push({moved});"));
            }
            (1, _) => {
                let header = self.header();
                self.line(&format!("stream!({header}, {{ drop({moved}); }});"));
            }
            _ => {
                let name = self.fresh("t");
                let mutable = self.random.chance(50);
                self.line(&format!("let {}{name} = {moved};", if mutable { "mut " } else { "" }));
                self.bind(&name, Kind::Tensor, mutable, false);
            }
        }
        Some(())
    }

    fn maybe(&mut self) -> Option<()> {
        let (header, value, name, condition) = (self.header(), self.value(), self.fresh("m"), self.condition());
        let line = match self.random.below(3) {
            0 => {
                format!("let mut {name} = if {condition} {{ Some(stream!({header}, {{ {value} }})) }} else {{ None }};")
            }
            1 => {
                format!("let mut {name} = stream!({header}, {{ if {condition} {{ Some({value}) }} else {{ None }} }});")
            }
            _ => {
                format!("let mut {name} = None; if {condition} {{ {name} = Some(stream!({header}, {{ {value} }})); }}")
            }
        };
        self.line(&line);
        self.bind(&name, Kind::Maybe, true, true);
        Some(())
    }

    fn swap(&mut self) -> Option<()> {
        let (a, b) = (self.target()?, self.target()?);
        if a.overlaps(&b) {
            return None;
        }
        let header = self.header();
        let swap = format!("std::mem::swap({}, {});", a.write(), b.write());
        let line = if self.random.chance(50) { swap } else { format!("stream!({header}, {{ {swap} }});") };
        self.line(&line);
        Some(())
    }

    fn collect(&mut self) -> Option<()> {
        let list = self.pick(self.scope.of(&[Kind::List, Kind::Filled], false))?;
        let (list, header, c, name) = (self.name(list), self.header(), self.constant(), self.fresh("l"));
        self.line(&format!(
            "let mut {name}: Vec<Tensor> = stream!({header}, {{ {list}.iter().map(|t| affine(t, {c})).collect::<Result<_>>()? }});"
        ));
        self.bind(&name, Kind::List, true, true);
        Some(())
    }

    fn host_only(&mut self) -> Option<()> {
        let (place, header) = (self.place(), self.header());
        let place = place.expr.trim_start_matches('*').to_owned();
        let line = match self.random.below(3) {
            0 => format!("let _ = {place}.shape().len();"),
            1 => format!("stream!({header}, {{ let _ = {place}.numel(); }});"),
            _ => format!("stream!({header}, {{}});"),
        };
        self.line(&line);
        Some(())
    }

    fn filled(&mut self) -> Option<()> {
        let (a, b) = (self.moved(Kind::Tensor)?, self.read());
        let name = self.fresh("l");
        self.line(&format!("let mut {name} = Vec::from([{a}, ({b}).clone()]);"));
        self.bind(&name, Kind::Filled, true, false);
        Some(())
    }

    fn labelled_value(&mut self) -> Option<()> {
        let (name, label, condition) = (self.fresh("t"), self.fresh("'b"), self.condition());
        let (one, other, a, b) = (self.header(), self.header(), self.value(), self.value());
        self.line(&format!(
            "let {name} = {label}: {{ if {condition} {{ break {label} stream!({one}, {{ {a} }}); }} stream!({other}, {{ {b} }}) }};"
        ));
        self.bind(&name, Kind::Tensor, false, launches(&a) && launches(&b));
        Some(())
    }

    fn take_apart(&mut self) -> Option<()> {
        let pair = self.moved(Kind::Pair)?;
        let (left, right) = (self.fresh("t"), self.fresh("u"));
        self.line(&format!("let Pair {{ left: mut {left}, right: {right} }} = {pair};"));
        self.bind(&left, Kind::Tensor, true, false);
        self.bind(&right, Kind::Tensor, false, false);
        Some(())
    }

    fn early_return(&mut self) -> Option<()> {
        let outs = self.scope.0.iter().find(|v| v.name == "outs");
        if outs.is_some_and(|outs| outs.frozen != Frozen::No) {
            return None;
        }
        let (result, header) = (self.result(), self.header());
        let line = match self.random.below(2) {
            0 => format!("if flags.seldom() {{ return {result}; }}"),
            _ => format!("stream!({header}, {{ if flags.seldom() {{ return {result}; }} }});"),
        };
        self.line(&line);
        Some(())
    }

    fn choice(&mut self) -> Option<()> {
        let (a, b, name, condition) = (self.value(), self.value(), self.fresh("t"), self.condition());
        let (one, other) = (self.header(), self.header());
        self.line(&format!(
            "let {name} = match {condition} {{ true => stream!({one}, {{ {a} }}), false => stream!({other}, {{ {b} }}) }};"
        ));
        self.bind(&name, Kind::Tensor, false, launches(&a) && launches(&b));
        Some(())
    }

    fn let_else(&mut self) -> Option<()> {
        let maybe = self.pick(self.scope.of(&[Kind::Maybe], true))?;
        let (maybe, name) = (self.name(maybe), self.fresh("t"));
        let (header, value) = (self.header(), self.value());
        self.line(&format!("if {maybe}.is_none() {{ {maybe} = Some(stream!({header}, {{ {value} }})); }}"));
        self.line(&format!("let Some({name}) = {maybe}.clone() else {{ unreachable!() }};"));
        self.bind(&name, Kind::Tensor, false, false);
        Some(())
    }
}

/// Is the value computed, rather than another one's clone?
pub(crate) fn launches(value: &str) -> bool {
    !value.ends_with(".clone()")
}

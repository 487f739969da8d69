//! Statements with others in them: branches, loops, blocks, closures, and scopes in which something is borrowed.

use crate::generate::function::Function;
use crate::generate::scope::{Frozen, Kind};
use crate::generate::statement::launches;

impl Function<'_> {
    pub(crate) fn branch(&mut self, depth: usize) -> Option<()> {
        let condition = self.condition();
        self.line(&format!("if {condition} {{"));
        self.statements(depth);
        if self.random.chance(60) {
            self.line("} else {");
            self.statements(depth);
        }
        self.line("}");
        Some(())
    }

    /// The body of a loop, with a way out of it now and then.
    fn loop_body(&mut self, depth: usize, variables: usize, label: &str) {
        self.loops += 1;
        self.statements_with(depth, usize::MAX);
        if self.random.chance(40) {
            let exit = if self.random.chance(50) { "break" } else { "continue" };
            let (condition, header) = (self.condition(), self.header());
            if let Some(target) = self.target() {
                let write = target.write();
                self.line(&format!(
                    "    stream!({header}, {{ affine_({write}, 0.5)?; if {condition} {{ {exit} {label}; }} }});"
                ));
            }
            if let Some(list) = self.pick(self.scope.of(&[Kind::List], true)).filter(|_| !self.exact) {
                let (list, value) = (self.name(list), self.value());
                self.line(&format!("    {list}.push(stream!(s0, {{ {value} }}));"));
            }
        }
        self.scope.0.truncate(variables);
        self.loops -= 1;
    }

    pub(crate) fn for_loop(&mut self, depth: usize) -> Option<()> {
        if self.loops == 2 {
            return None;
        }
        let (label, n, variables) = (self.fresh("'l"), self.iterations(), self.scope.0.len());
        self.line(&format!("{label}: for i in 0..{n} {{"));
        self.loop_body(depth, variables, &label);
        self.line("}");
        Some(())
    }

    pub(crate) fn nested_block(&mut self, depth: usize) -> Option<()> {
        let header = self.header();
        self.line(&format!("stream!({header}, {{"));
        self.statements(depth);
        self.line("});");
        Some(())
    }

    pub(crate) fn if_let(&mut self, depth: usize) -> Option<()> {
        let maybe = self.pick(self.scope.of(&[Kind::Maybe], true))?;
        let (name, some) = (self.name(maybe), self.fresh("w"));
        let (from, kind, how) = match self.random.below(3) {
            0 => (format!("&{name}"), Kind::Shared, Frozen::Shared),
            1 => (format!("&mut {name}"), Kind::Exclusive, Frozen::Gone),
            _ => (format!("{name}.take()"), Kind::Tensor, Frozen::No),
        };
        self.line(&format!("if let Some({some}) = {from} {{"));
        let variables = self.scope.0.len();
        self.bind(&some, kind, kind == Kind::Exclusive, false);
        self.frozen(maybe, how, |f| f.statements_with(depth, variables));
        if self.random.chance(40) {
            self.line("} else {");
            self.statements(depth);
        }
        self.line("}");
        Some(())
    }

    pub(crate) fn while_loop(&mut self, depth: usize) -> Option<()> {
        if self.loops == 2 {
            return None;
        }
        let (n, label, variables) = (self.fresh("n"), self.fresh("'l"), self.scope.0.len());
        self.line(&format!("let mut {n} = 0;"));
        self.line(&format!("{label}: while {n} < 3 && flags.next() {{"));
        self.line(&format!("    {n} += 1; let i = {n};"));
        self.loop_body(depth, variables, &label);
        self.line("}");
        Some(())
    }

    pub(crate) fn while_let(&mut self, depth: usize) -> Option<()> {
        if self.loops == 2 {
            return None;
        }
        let (stack, item, label) = (self.fresh("l"), self.fresh("w"), self.fresh("'l"));
        let (header, read, value) = (self.header(), self.read(), self.value());
        self.line(&format!("let mut {stack} = Vec::from([({read}).clone(), stream!({header}, {{ {value} }})]);"));
        self.line(&format!("{label}: while let Some({item}) = {stack}.pop() {{"));
        self.line("    let i = 1;");
        let variables = self.scope.0.len();
        self.loops += 1;
        self.bind(&item, Kind::Tensor, false, false);
        self.loops -= 1;
        self.loop_body(depth, variables, &label);
        self.line("}");
        Some(())
    }

    pub(crate) fn loop_value(&mut self, depth: usize) -> Option<()> {
        if self.loops == 2 {
            return None;
        }
        let (n, name, label, variables) = (self.fresh("n"), self.fresh("t"), self.fresh("'l"), self.scope.0.len());
        self.line(&format!("let mut {n} = 0;"));
        self.line(&format!("let mut {name} = {label}: loop {{"));
        self.line(&format!("    {n} += 1; let i = {n};"));
        self.loops += 1;
        self.statements_with(depth, usize::MAX);
        let (header, value, condition) = (self.header(), self.value(), self.condition());
        let line = match self.random.below(3) {
            0 => format!("if {n} > 2 || {condition} {{ break stream!({header}, {{ {value} }}); }}"),
            1 => format!("stream!({header}, {{ if {n} > 2 || {condition} {{ break {label} {value}; }} }});"),
            _ => format!("let made = stream!({header}, {{ {value} }}); if {n} > 2 || {condition} {{ break made; }}"),
        };
        self.line(&format!("    {line}"));
        self.scope.0.truncate(variables);
        self.loops -= 1;
        self.line("};");
        self.bind(&name, Kind::Tensor, true, launches(&value));
        Some(())
    }

    pub(crate) fn borrow(&mut self, depth: usize) -> Option<()> {
        let (place, name, variables) = (self.place(), self.fresh("r"), self.scope.0.len());
        self.line("{");
        self.line(&format!("    let {name} = {};", place.read()));
        self.bind(&name, Kind::Shared, false, false);
        self.frozen(place.root, Frozen::Shared, |f| f.statements_with(depth, usize::MAX));
        let (header, value) = (self.header(), self.read());
        if let Some(target) = self.target().filter(|target| !target.overlaps(&place)) {
            let target = target.expr;
            self.line(&format!("    stream!({header}, {{ {target} = combine({value}, {name})?; }});"));
        }
        self.scope.0.truncate(variables);
        self.line("}");
        Some(())
    }

    pub(crate) fn borrow_mut(&mut self, depth: usize) -> Option<()> {
        let (place, name, variables) = (self.target()?, self.fresh("e"), self.scope.0.len());
        self.line("{");
        self.line(&format!("    let {name} = {};", place.write()));
        self.bind(&name, Kind::Exclusive, true, false);
        self.frozen(place.root, Frozen::Gone, |f| {
            f.statements_with(depth, usize::MAX);
            let header = f.header();
            f.line(&format!("    stream!({header}, {{ affine_({name}, 0.5)?; }});"));
        });
        self.scope.0.truncate(variables);
        self.line("}");
        Some(())
    }

    pub(crate) fn halves(&mut self) -> Option<()> {
        let (place, low, high) = (self.target()?, self.fresh("low"), self.fresh("high"));
        self.line("{");
        self.line(&format!(
            "    let (mut {low}, mut {high}) = {}.split_at_mut(2)?;",
            place.expr.trim_start_matches('*')
        ));
        self.indent += 1;
        self.frozen(place.root, Frozen::Gone, |f| {
            for _ in 0..2 + f.random.below(4) {
                let (header, c) = (f.header(), f.constant());
                let (one, other) = if f.random.chance(50) { (&low, &high) } else { (&high, &low) };
                let line = match f.random.below(4) {
                    0 | 1 => format!("stream!({header}, {{ affine_(&mut {one}, {c})?; }});"),
                    2 => format!("stream!({header}, {{ mix_(&mut {one}, &{other})?; }});"),
                    _ => format!("stream!({header}, {{ fill_(&mut {one}, {c})?; }});"),
                };
                f.line(&line);
                if f.random.chance(30) {
                    f.update();
                }
            }
        });
        self.indent -= 1;
        self.line("}");
        Some(())
    }

    pub(crate) fn closure(&mut self, depth: usize) -> Option<()> {
        let (place, name, variables) = (self.place(), self.fresh("f"), self.scope.0.len());
        self.line("{");
        let read = place.read();
        self.line(&format!("    let {name} = |t: &Tensor, c: f32| affine(&combine(t, {read})?, c);"));
        self.indent += 1;
        self.frozen(place.root, Frozen::Shared, |f| {
            for _ in 0..1 + f.random.below(2) {
                let (header, argument, c, made) = (f.header(), f.read(), f.constant(), f.fresh("t"));
                f.line(&format!("let {made} = stream!({header}, {{ {name}({argument}, {c})? }});"));
                f.bind(&made, Kind::Tensor, false, true);
                f.indent -= 1;
                f.statements_with(depth, usize::MAX);
                f.indent += 1;
            }
            let (header, argument) = (f.header(), f.read());
            f.line(&format!("stream!({header}, {{ {name}({argument}, 0.5)?; }});"));
        });
        self.indent -= 1;
        self.scope.0.truncate(variables);
        self.line("}");
        Some(())
    }

    pub(crate) fn closure_mut(&mut self) -> Option<()> {
        let (place, name) = (self.target()?, self.fresh("g"));
        let write = place.write();
        self.line("{");
        self.line(&format!("    let mut {name} = |c: f32| affine_({write}, c);"));
        self.indent += 1;
        self.frozen(place.root, Frozen::Gone, |f| {
            for _ in 0..2 {
                let (header, c) = (f.header(), f.constant());
                f.line(&format!("stream!({header}, {{ {name}({c})?; }});"));
            }
        });
        self.indent -= 1;
        self.line("}");
        Some(())
    }

    pub(crate) fn for_each(&mut self, depth: usize) -> Option<()> {
        if self.loops == 2 {
            return None;
        }
        let list = self.pick(self.scope.of(&[Kind::List, Kind::Filled], true))?;
        let (name, item, label) = (self.name(list), self.fresh("w"), self.fresh("'l"));
        let (pattern, from, kind, how) = match self.random.below(4) {
            0 => (format!("(i, {item})"), format!("{name}.iter().enumerate()"), Kind::Shared, Frozen::Shared),
            1 => (format!("(i, {item})"), format!("{name}.iter_mut().enumerate()"), Kind::Exclusive, Frozen::Gone),
            2 => (item.clone(), format!("&{name}"), Kind::Shared, Frozen::Shared),
            _ => (item.clone(), format!("&mut {name}"), Kind::Exclusive, Frozen::Gone),
        };
        let indexed = pattern.starts_with('(');
        self.line(&format!("{label}: for {pattern} in {from} {{"));
        if !indexed {
            self.line("    let i = 2;");
        }
        let variables = self.scope.0.len();
        self.loops += 1;
        self.bind(&item, kind, kind == Kind::Exclusive, false);
        self.loops -= 1;
        self.frozen(list, how, |f| f.loop_body(depth, variables, &label));
        self.line("}");
        Some(())
    }

    pub(crate) fn guarded_match(&mut self, depth: usize) -> Option<()> {
        let maybe = self.pick(self.scope.of(&[Kind::Maybe], false))?;
        let (name, some, condition) = (self.name(maybe), self.fresh("w"), self.condition());
        let (header, value) = (self.header(), self.value());
        let (made, beside) = (self.fresh("t"), self.read());
        self.line(&format!("let {made} = match &{name} {{"));
        self.line(&format!("    Some({some}) if {condition} => stream!({header}, {{ combine({some}, {beside})? }}),"));
        self.line(&format!("    Some({some}) => {{"));
        let variables = self.scope.0.len();
        self.bind(&some, Kind::Shared, false, false);
        self.indent += 1;
        self.frozen(maybe, Frozen::Shared, |f| f.statements_with(depth, variables));
        self.indent -= 1;
        self.line(&format!("        affine({some}, 1.5)?"));
        self.line("    }");
        self.line(&format!("    None => {value},"));
        self.line("};");
        self.bind(&made, Kind::Tensor, false, true);
        Some(())
    }

    pub(crate) fn fields_of(&mut self, depth: usize) -> Option<()> {
        let pair = self.pick(self.scope.of(&[Kind::Pair], true))?;
        let (name, left, right, variables) = (self.name(pair), self.fresh("e"), self.fresh("e"), self.scope.0.len());
        self.line("{");
        self.line(&format!("    let Pair {{ left: {left}, right: {right} }} = &mut {name};"));
        self.bind(&left, Kind::Exclusive, true, false);
        self.bind(&right, Kind::Exclusive, true, false);
        self.frozen(pair, Frozen::Gone, |f| {
            let (one, other) = (f.header(), f.header());
            f.line(&format!("    stream!({one}, {{ affine_({left}, 0.5)?; }});"));
            f.line(&format!("    stream!({other}, {{ affine_({right}, 1.5)?; }});"));
            f.statements_with(depth, usize::MAX);
        });
        self.scope.0.truncate(variables);
        self.line("}");
        Some(())
    }

    pub(crate) fn fill_list(&mut self) -> Option<()> {
        if self.loops == 2 {
            return None;
        }
        let (name, n, streams) = (self.fresh("l"), self.iterations(), self.streams);
        self.line(&format!("let mut {name}: Vec<Tensor> = Vec::new();"));
        self.line(&format!("for i in 0..{n} {{"));
        self.loops += 1;
        let value = self.value();
        self.loops -= 1;
        self.line(&format!("    {name}.push(stream!(&streams[i % {streams}], {{ {value} }}));"));
        self.line("}");
        self.bind(&name, Kind::List, true, true);
        Some(())
    }
}

//! Functions: what they are given, what they give, and how they are called.

use std::fmt::Write;

use crate::generate::random::Random;
use crate::generate::scope::{Frozen, Kind, Scope, Variable};

/// The shapes of functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `fn(state: &mut State, streams, x: &Tensor, flags) -> Result<Vec<Tensor>>`
    Entry,
    /// `fn(streams, x: &Tensor, flags) -> Result<Tensor>`
    Make,
    /// `fn(streams, y: &mut Tensor, x: &Tensor, flags) -> Result<()>`
    Update,
    /// `fn(streams, x: Tensor, flags) -> Result<Tensor>`
    Consume,
    /// `fn(streams, x: &Tensor, depth: usize, flags) -> Result<Tensor>`, which calls itself.
    Recurse,
    /// `fn(&self, streams, x: &Tensor, flags) -> Result<Tensor>`
    Look,
    /// `fn(&mut self, streams, x: &Tensor, flags) -> Result<Tensor>`
    Step,
}

/// A function that others may call.
#[derive(Clone, Debug)]
pub(crate) struct Callable {
    pub(crate) name: String,
    pub(crate) form: Form,
    /// How deep its own calls go.
    pub(crate) level: usize,
}

/// A function as text.
pub(crate) struct Written {
    pub(crate) text: String,
    /// Its row in the table of programs.
    pub(crate) row: String,
    pub(crate) callable: Option<Callable>,
}

pub(crate) struct Function<'c> {
    pub(crate) random: Random,
    pub(crate) form: Form,
    pub(crate) name: String,
    pub(crate) callable: &'c [Callable],
    pub(crate) streams: usize,
    pub(crate) scope: Scope,
    pub(crate) text: String,
    pub(crate) indent: usize,
    /// Loops around.
    pub(crate) loops: usize,
    pub(crate) named: usize,
    pub(crate) level: usize,
    pub(crate) calls: usize,
    /// Of forms in which the rules of syntax see exactly what is touched.
    pub(crate) exact: bool,
    /// And without branches and loops, on streams that are known.
    pub(crate) straight: bool,
}

impl<'c> Function<'c> {
    pub(crate) fn new(mut random: Random, callable: &'c [Callable]) -> Function<'c> {
        let form = random.one_of(&[
            Form::Entry,
            Form::Entry,
            Form::Entry,
            Form::Make,
            Form::Update,
            Form::Consume,
            Form::Recurse,
            Form::Look,
            Form::Step,
        ]);
        let streams = 2 + random.below(4);
        let straight = form != Form::Recurse && random.chance(15);
        let exact = straight || random.chance(40);
        Function {
            random,
            form,
            name: String::new(),
            callable,
            streams,
            scope: Scope::default(),
            text: String::new(),
            indent: 1,
            loops: 0,
            named: 0,
            level: 0,
            calls: 0,
            exact,
            straight,
        }
    }

    pub(crate) fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "{}{text}", "    ".repeat(self.indent));
    }

    pub(crate) fn fresh(&mut self, prefix: &str) -> String {
        self.named += 1;
        // A name is used again now and then: shadowing.
        if prefix == "t" && self.random.chance(15) { "t".to_owned() } else { format!("{prefix}{}", self.named) }
    }

    pub(crate) fn bind(&mut self, name: &str, kind: Kind, mutable: bool, produced: bool) {
        let loops = self.loops;
        self.scope.0.push(Variable { name: name.to_owned(), kind, mutable, produced, frozen: Frozen::No, loops });
    }

    /// What a function gives when it leaves early.
    pub(crate) fn result(&mut self) -> String {
        match self.form {
            Form::Entry => "Ok(outs)".to_owned(),
            Form::Update => "Ok(())".to_owned(),
            _ => format!("Ok({})", self.value()),
        }
    }

    pub(crate) fn write(mut self, number: u64) -> Written {
        let form = self.form;
        self.name = match form {
            Form::Entry => format!("program_{number}"),
            Form::Make => format!("make_{number}"),
            Form::Update => format!("update_{number}"),
            Form::Consume => format!("consume_{number}"),
            Form::Recurse => format!("recurse_{number}"),
            Form::Look => format!("look_{number}"),
            Form::Step => format!("step_{number}"),
        };
        let name = self.name.clone();
        let mutable = !self.exact && self.random.chance(50);
        match form {
            Form::Entry => self.bind("state", Kind::State, true, false),
            Form::Update => self.bind("y", Kind::Exclusive, true, false),
            Form::Look => self.bind("self", Kind::State, false, false),
            Form::Step => self.bind("self", Kind::State, true, false),
            Form::Consume => self.bind("x", Kind::Tensor, mutable, false),
            Form::Make | Form::Recurse => {}
        }
        if form != Form::Consume {
            self.bind("x", Kind::Shared, false, false);
        }
        self.body();
        let mut_x = if mutable { "mut " } else { "" };
        let (arguments, result, row) = match form {
            Form::Entry => (
                "state: &mut State, streams: &[Stream], x: &Tensor, flags: &Flags".to_owned(),
                "Vec<Tensor>",
                name.clone(),
            ),
            Form::Make => (
                "streams: &[Stream], x: &Tensor, flags: &Flags".to_owned(),
                "Tensor",
                format!("|_, streams, x, flags| Ok(vec![{name}(streams, x, flags)?])"),
            ),
            Form::Update => (
                "streams: &[Stream], y: &mut Tensor, x: &Tensor, flags: &Flags".to_owned(),
                "()",
                format!("|state, streams, x, flags| {{ {name}(streams, &mut state.k, x, flags)?; Ok(Vec::new()) }}"),
            ),
            Form::Consume => (
                format!("streams: &[Stream], {mut_x}x: Tensor, flags: &Flags"),
                "Tensor",
                format!("|_, streams, x, flags| Ok(vec![{name}(streams, x.clone(), flags)?])"),
            ),
            Form::Recurse => (
                "streams: &[Stream], x: &Tensor, depth: usize, flags: &Flags".to_owned(),
                "Tensor",
                format!("|_, streams, x, flags| Ok(vec![{name}(streams, x, 3, flags)?])"),
            ),
            Form::Look => (
                "&self, streams: &[Stream], x: &Tensor, flags: &Flags".to_owned(),
                "Tensor",
                format!("|state, streams, x, flags| Ok(vec![state.{name}(streams, x, flags)?])"),
            ),
            Form::Step => (
                "&mut self, streams: &[Stream], x: &Tensor, flags: &Flags".to_owned(),
                "Tensor",
                format!("|state, streams, x, flags| Ok(vec![state.{name}(streams, x, flags)?])"),
            ),
        };
        let take: String = (0..self.streams).map(|i| format!("    let s{i} = &streams[{i}];\n")).collect();
        let function = format!("#[multicore]\nfn {name}({arguments}) -> Result<{result}> {{\n{take}{}}}\n", self.text);
        let text = match form {
            Form::Look | Form::Step => format!("impl State {{\n{function}}}\n\n"),
            _ => format!("{function}\n"),
        };
        let exact = self.exact && form != Form::Recurse;
        let straight = exact && self.straight;
        let row = format!("Program {{ name: {name:?}, run: {row}, exact: {exact}, straight: {straight} }}");
        let callable = (form != Form::Entry && self.level < 2).then_some(Callable { name, form, level: self.level });
        Written { text, row, callable }
    }

    fn body(&mut self) {
        if self.form == Form::Recurse {
            let c = self.constant();
            self.line(&format!("if depth == 0 {{ return affine(x, {c}); }}"));
        }
        if self.form == Form::Consume && !self.exact {
            self.line("let base = x.clone();");
            self.bind("base", Kind::Tensor, false, false);
        }
        for _ in 0..1 + self.random.below(3) {
            let (c, name) = (self.constant(), self.fresh("v"));
            let on = self.stream();
            // Some on `main`, some on a stream.
            let mutable = self.random.chance(70);
            let keyword = if mutable { "let mut" } else { "let" };
            let from = if self.form == Form::Consume && !self.exact { "base" } else { "x" };
            if self.random.chance(50) {
                self.line(&format!("{keyword} {name} = affine(&{from}, {c})?;"));
            } else {
                self.line(&format!("{keyword} {name} = stream!({on}, {{ affine(&{from}, {c})? }});"));
            }
            self.bind(&name, Kind::Tensor, mutable, true);
        }
        if self.form == Form::Entry {
            self.line("let mut outs: Vec<Tensor> = Vec::new();");
            self.bind("outs", Kind::List, true, true);
        }
        let statements = if self.form == Form::Entry { 5 + self.random.below(9) } else { 2 + self.random.below(6) };
        for _ in 0..statements {
            self.statement(0);
        }
        if self.form == Form::Recurse {
            let (header, place) = (self.header(), self.read());
            let name = self.name.clone();
            self.line(&format!("let again = stream!({header}, {{ {name}(streams, {place}, depth - 1, flags)? }});"));
            self.bind("again", Kind::Tensor, false, true);
        }
        match self.form {
            Form::Entry => {
                let movable = self.scope.movable(Kind::Tensor, 0);
                let names: Vec<_> = movable.into_iter().map(|v| self.scope.0[v].name.clone()).collect();
                if self.exact {
                    self.line(&format!("Ok(vec![{}])", names.join(", ")));
                } else {
                    names.iter().for_each(|name| self.line(&format!("outs.push({name});")));
                    self.line("Ok(outs)");
                }
            }
            Form::Update => {
                let (header, write, value) = (self.header(), "y".to_owned(), self.read_beside_exclusive());
                self.line(&format!("stream!({header}, {{ mix_({write}, {value}) }})"));
            }
            _ if self.random.chance(50) => {
                let (header, value) = (self.header(), self.value());
                let value = value
                    .strip_suffix('?')
                    .filter(|_| self.random.chance(50))
                    .map_or(format!("Ok({value})"), str::to_owned);
                self.line(&format!("stream!({header}, {{ {value} }})"));
            }
            _ => {
                let result = self.result();
                self.line(&result);
            }
        }
    }

    fn read_beside_exclusive(&mut self) -> String {
        let places: Vec<_> = self.places(false).into_iter().filter(|place| place.expr != "*y").collect();
        places[self.random.below(places.len())].read()
    }
}

//! Random straight-line functions as source text, each with its own model: the generator knows which place every call
//! reads or writes, so it builds the model without reading the text.
//!
//! What the documentation calls uses is all that is in it: arguments and receivers, assignments of variables, fields and
//! elements, moves, containers, halves of `split_at_mut`, values that may borrow from a `mut` variable, blocks in blocks
//! with `after`, `reads` and `writes`.

use super::program::Random;
use crate::model::{Access, Builder, MAIN, Mode, Model, NodeId, Part, PointId, StreamId, VarId};

/// A function, and what it means.
pub(super) struct Source {
    pub(super) text: String,
    pub(super) model: Model,
    /// The line of each node and of each point.
    pub(super) nodes: Vec<usize>,
    pub(super) points: Vec<usize>,
}

/// How a variable is declared, which decides how a use of it is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// `&Tensor`
    Shared,
    /// `let`
    Plain,
    /// `mut`
    Mut,
    /// `&mut Tensor`
    Exclusive,
}

struct Variable {
    name: String,
    kind: Kind,
    /// `mut`, with fields.
    is_struct: bool,
    /// Which half of which pattern.
    half: Option<Part>,
}

/// What a value may still borrow.
#[derive(Clone, PartialEq)]
struct Borrow {
    access: Access,
    /// The half does to it what is done to the half; others read.
    same: bool,
}

/// A call: what it reads and writes.
type Call = Vec<Access>;

enum Line {
    /// Calls in evaluation order, and the places that get a value, each with the calls it is made of.
    Run {
        calls: Vec<Call>,
        gives: Vec<(Access, Vec<usize>)>,
        declares: bool,
    },
    Move {
        from: VarId,
        to: VarId,
    },
    /// `outs.push(x)`
    Push {
        to: VarId,
        of: VarId,
    },
    Split {
        of: VarId,
        halves: [VarId; 2],
    },
    Open {
        header: Vec<(&'static str, Access)>,
    },
    Close {
        of: usize,
    },
}

struct Generator {
    random: Random,
    streams: u32,
    variables: Vec<Variable>,
    /// Those that can be named, innermost last.
    usable: Vec<VarId>,
    lines: Vec<(Option<u32>, Line)>,
    text: String,
    left: u32,
    groups: u32,
}

impl Source {
    pub(super) fn random(seed: u64) -> Source {
        let mut random = Random(seed);
        let size = [8, 8, 12, 16, 30, 60][random.below(6) as usize];
        let left = 1 + random.below(size);
        let streams = 1 + random.below(7);
        let mut generator = Generator {
            random,
            streams,
            variables: Vec::new(),
            usable: Vec::new(),
            lines: Vec::new(),
            text: String::new(),
            left,
            groups: 0,
        };
        generator.function();
        generator.finish()
    }
}

impl Generator {
    fn function(&mut self) {
        let streams: String = (1..=self.streams).map(|s| format!("s{s}: &Stream, ")).collect();
        let parameters = "x: &Tensor, y: &mut Tensor, mut m: Tensor, mut st: State, mut outs: Vec<Tensor>, i: usize";
        self.text = format!("fn f({streams}ss: &[Stream], {parameters}) -> Result<()> {{\n");
        for (name, kind) in
            [("x", Kind::Shared), ("y", Kind::Exclusive), ("m", Kind::Mut), ("st", Kind::Mut), ("outs", Kind::Mut)]
        {
            let var = self.variable(name.to_owned(), kind);
            self.variables[var.index()].is_struct = name == "st";
            self.usable.push(var);
        }
        while self.left > 0 {
            self.statement(0);
        }
        self.text += "Ok(()) }\n";
    }

    fn variable(&mut self, name: String, kind: Kind) -> VarId {
        self.variables.push(Variable { name, kind, is_struct: false, half: None });
        VarId(self.variables.len() as u32 - 1)
    }

    fn fresh(&mut self, kind: Kind) -> VarId {
        let name = format!("v{}", self.variables.len());
        self.variable(name, kind)
    }

    fn any(&mut self, fits: impl Fn(&Variable) -> bool) -> Option<VarId> {
        let fitting: Vec<VarId> =
            self.usable.iter().copied().filter(|var| fits(&self.variables[var.index()])).collect();
        let count = u32::try_from(fitting.len()).ok().filter(|count| *count > 0)?;
        Some(fitting[self.random.below(count) as usize])
    }

    /// A place of a variable, as it is written.
    fn place(&mut self, var: VarId, mode: Mode) -> (Access, String) {
        let Variable { name, kind, is_struct, .. } = &self.variables[var.index()];
        let (mut access, mut text, kind) = (Access::new(var, mode), name.clone(), *kind);
        if *is_struct {
            for _ in 0..self.random.below(3) {
                let field = self.random.below(2);
                access.path.push(field);
                text += [".k", ".v"][field as usize];
            }
        }
        if kind == Kind::Mut && self.random.chance(15) {
            access.whole = false;
            text += "[i]";
        }
        (access, text)
    }

    /// A read of something, as an argument.
    fn read(&mut self) -> (Access, String) {
        let var = self.any(|_| true).unwrap_or(VarId(0));
        let (access, text) = self.place(var, Mode::Read);
        let text = match self.variables[var.index()].kind {
            Kind::Shared => text,
            Kind::Exclusive => format!("&*{text}"),
            _ => format!("&{text}"),
        };
        (access, text)
    }

    fn write(&mut self) -> Option<(Access, String)> {
        let var = self.any(|v| matches!(v.kind, Kind::Mut | Kind::Exclusive))?;
        let (access, text) = self.place(var, Mode::Write);
        let text = match self.variables[var.index()].kind {
            Kind::Exclusive if self.random.chance(50) => text,
            Kind::Exclusive => format!("&mut *{text}"),
            _ => format!("&mut {text}"),
        };
        Some((access, text))
    }

    /// An expression that makes a new value; its calls go to `calls`.
    fn value(&mut self, calls: &mut Vec<Call>) -> String {
        let ((a, a_text), (b, b_text)) = (self.read(), self.read());
        match self.random.below(6) {
            0 | 1 => {
                calls.push(vec![a]);
                format!("f({a_text})?")
            }
            2 => {
                calls.push(vec![a, b]);
                format!("f({a_text}, {b_text})?")
            }
            3 => {
                calls.extend([vec![a], vec![b]]);
                format!("f({a_text})?.combine({b_text})?")
            }
            4 => {
                calls.extend([vec![a], vec![b]]);
                format!("f({b_text}, &g({a_text})?)?")
            }
            _ => {
                // A method of something `mut` may write it.
                let var = self.any(|_| true).unwrap_or(VarId(0));
                let writes = matches!(self.variables[var.index()].kind, Kind::Mut | Kind::Exclusive);
                let (receiver, text) = self.place(var, if writes { Mode::Write } else { Mode::Read });
                calls.push(vec![receiver, b]);
                format!("{text}.combine({b_text})?")
            }
        }
    }

    /// A statement without its block: what it does, and its text.
    fn action(&mut self) -> (Line, String) {
        let mut calls = Vec::new();
        match self.random.below(5) {
            0 => {
                if let Some((target, text)) = self.write() {
                    let (read, read_text) = self.read();
                    return (
                        Line::Run { calls: vec![vec![target, read]], gives: Vec::new(), declares: false },
                        format!("f({text}, {read_text})?;"),
                    );
                }
            }
            1 => {
                if let Some(var) = self.any(|v| v.kind == Kind::Mut) {
                    let (target, text) = self.place(var, Mode::Write);
                    let (read, read_text) = self.read();
                    return (
                        Line::Run { calls: vec![vec![target, read]], gives: Vec::new(), declares: false },
                        format!("{text} += {read_text};"),
                    );
                }
            }
            2 | 3 => {
                if let Some(var) = self.any(|v| v.kind == Kind::Mut && v.name != "outs") {
                    let value = self.value(&mut calls);
                    let (target, text) = self.place(var, Mode::Write);
                    let gives = vec![(target, (0..calls.len()).collect())];
                    return (Line::Run { calls, gives, declares: false }, format!("{text} = {value};"));
                }
            }
            _ => {}
        }
        let value = self.value(&mut calls);
        (Line::Run { calls, gives: Vec::new(), declares: false }, format!("{value};"))
    }

    fn put(&mut self, stream: Option<u32>, line: Line, text: &str) {
        self.lines.push((stream, line));
        self.text += text;
        self.text.push('\n');
    }

    fn stream(&mut self) -> (u32, String) {
        match self.random.below(20) {
            // One of which nothing is known.
            0 => (u32::MAX, "&ss[i]".to_owned()),
            1 => (0, "main".to_owned()),
            _ => {
                let stream = 1 + self.random.below(self.streams);
                (stream, format!("s{stream}"))
            }
        }
    }

    fn statement(&mut self, depth: u32) {
        self.left = self.left.saturating_sub(1);
        let on = self.random.chance(80).then(|| self.stream());
        let block = |text: String| match &on {
            Some((_, name)) => format!("stream!({name}, {{ {text} }})"),
            None => text,
        };
        let stream = on.as_ref().map(|(stream, _)| *stream);
        match self.random.below(if depth < 3 { 16 } else { 13 }) {
            0..=4 => {
                let mut calls = Vec::new();
                let value = self.value(&mut calls);
                let kind = if self.random.chance(40) { Kind::Mut } else { Kind::Plain };
                let var = self.fresh(kind);
                let keyword = if kind == Kind::Mut { "let mut" } else { "let" };
                let text = format!("{keyword} {} = {};", self.variables[var.index()].name, block(value));
                let gives = vec![(Access::new(var, Mode::Write), (0..calls.len()).collect())];
                self.put(stream, Line::Run { calls, gives, declares: true }, &text);
                self.usable.push(var);
            }
            5 => {
                let (mut calls, mut gives) = (Vec::new(), Vec::new());
                let values = [(); 2].map(|()| {
                    let first = calls.len();
                    let value = self.value(&mut calls);
                    let var = self.fresh(Kind::Plain);
                    gives.push((Access::new(var, Mode::Write), (first..calls.len()).collect()));
                    (value, var)
                });
                let [a, b] = values.each_ref().map(|(_, var)| self.variables[var.index()].name.clone());
                let text = format!("let ({a}, {b}) = {};", block(format!("({}, {})", values[0].0, values[1].0)));
                self.put(stream, Line::Run { calls, gives, declares: true }, &text);
                self.usable.extend(values.map(|(_, var)| var));
            }
            6 => {
                if let Some(from) = self.any(|v| v.kind == Kind::Plain) {
                    let to = self.fresh(Kind::Plain);
                    let text =
                        format!("let {} = {};", self.variables[to.index()].name, self.variables[from.index()].name);
                    self.put(None, Line::Move { from, to }, &text);
                    self.usable.retain(|var| *var != from);
                    self.usable.push(to);
                }
            }
            7 => {
                if let (Some(of), Some(to)) = (self.any(|v| v.kind == Kind::Plain), self.any(|v| v.name == "outs")) {
                    let text = format!("outs.push({});", self.variables[of.index()].name);
                    self.put(None, Line::Push { to, of }, &text);
                    self.usable.retain(|var| *var != of);
                }
            }
            8..=12 => {
                let (line, text) = self.action();
                let text = if on.is_some() { block(text) + ";" } else { text };
                self.put(stream, line, &text);
            }
            _ => self.nested(depth),
        }
    }

    fn nested(&mut self, depth: u32) {
        let (stream, name) = self.stream();
        let (mut header, mut text) = (Vec::new(), format!("stream!({name}"));
        for word in ["after", "reads", "writes"] {
            if self.random.chance(25)
                && let Some(var) = self.any(|v| word != "writes" || v.kind == Kind::Mut)
            {
                let mut access = Access::new(var, if word == "writes" { Mode::Write } else { Mode::Read });
                let mut place = self.variables[var.index()].name.clone();
                if self.variables[var.index()].is_struct && self.random.chance(50) {
                    access.path.push(0);
                    place += ".k";
                }
                header.push((word, access));
                text += &format!(", {word}({place})");
            }
        }
        let open = self.lines.len();
        self.put(Some(stream), Line::Open { header }, &format!("{text}, {{"));
        let usable = self.usable.clone();
        if self.random.chance(25)
            && let Some(of) = self.any(|v| v.kind == Kind::Mut && !v.is_struct && v.name != "outs")
        {
            let halves = [0, 1].map(|name| {
                let half = self.fresh(Kind::Exclusive);
                self.variables[half.index()].half = Some(Part { group: self.groups, name });
                half
            });
            self.groups += 1;
            let [l, r] = halves.map(|half| self.variables[half.index()].name.clone());
            let text = format!("let ({l}, {r}) = {}.split_at_mut(i);", self.variables[of.index()].name);
            self.put(None, Line::Split { of, halves }, &text);
            self.usable.retain(|var| *var != of);
            self.usable.extend(halves);
        }
        for _ in 0..1 + self.random.below(4) {
            self.statement(depth + 1);
        }
        // What was moved inside is gone.
        let moved: Vec<VarId> = self.lines[open..].iter().filter_map(|(_, line)| gone(line)).collect();
        self.usable = usable.into_iter().filter(|var| !moved.contains(var)).collect();
        self.put(None, Line::Close { of: open }, "});");
    }
}

/// The variable that a line moves from.
fn gone(line: &Line) -> Option<VarId> {
    match line {
        Line::Move { from, .. } => Some(*from),
        Line::Push { of, .. } => Some(*of),
        _ => None,
    }
}

// ---------------------------------------------------------------------------------------------------------- its meaning

struct Meaning<'g> {
    variables: &'g [Variable],
    borrows: Vec<Vec<Borrow>>,
    alive: Vec<bool>,
}

impl Meaning<'_> {
    /// The access and what it reaches: a value made from something `mut` may still borrow it.
    fn reached(&self, access: &Access) -> Vec<Access> {
        let borrows = self.borrows[access.var.index()].iter().filter(|borrow| self.alive[borrow.access.var.index()]);
        let reached = borrows.map(|borrow| {
            let mode = if borrow.same { access.mode } else { Mode::Read };
            let part = borrow.access.part.or(self.variables[access.var.index()].half);
            Access { mode, part, whole: true, ..borrow.access.clone() }
        });
        std::iter::once(access.clone()).chain(reached).collect()
    }

    fn call(&self, call: &Call) -> Vec<Access> {
        call.iter().flat_map(|access| self.reached(access)).collect()
    }

    /// `var` may borrow what can be written meanwhile of all that is used. True if that is news.
    fn learn(&mut self, var: VarId, used: Vec<Access>) -> bool {
        let mut news = false;
        for access in used {
            let can_change = matches!(self.variables[access.var.index()].kind, Kind::Mut | Kind::Exclusive);
            let borrow = Borrow { access: Access { mode: Mode::Read, whole: true, ..access }, same: false };
            if can_change && borrow.access.var != var && !self.borrows[var.index()].contains(&borrow) {
                self.borrows[var.index()].push(borrow);
                news = true;
            }
        }
        news
    }
}

impl Generator {
    fn finish(self) -> Source {
        let count = self.variables.len();
        let mut meaning =
            Meaning { variables: &self.variables, borrows: vec![Vec::new(); count], alive: vec![false; count] };
        // What a variable may borrow is known of the variable, not of its value here and there.
        loop {
            let mut write = Written::new(&self, &mut meaning);
            write.lines();
            if !write.news {
                let Written { builder, nodes, points, .. } = write;
                return Source { text: self.text, model: builder.finish(), nodes, points };
            }
        }
    }
}

struct Written<'g, 'm> {
    generator: &'g Generator,
    meaning: &'m mut Meaning<'g>,
    builder: Builder,
    streams: Vec<StreamId>,
    on: Vec<(StreamId, bool)>,
    scopes: Vec<Vec<VarId>>,
    nodes: Vec<usize>,
    points: Vec<usize>,
    line: usize,
    news: bool,
}

impl<'g, 'm> Written<'g, 'm> {
    fn new(generator: &'g Generator, meaning: &'m mut Meaning<'g>) -> Written<'g, 'm> {
        let mut builder = Builder::default();
        let named = (1..=generator.streams).map(|s| builder.stream(format!("s{s}")));
        let streams = [MAIN].into_iter().chain(named.collect::<Vec<_>>()).collect();
        generator.variables.iter().for_each(|_| {
            builder.var();
        });
        meaning.alive = generator.variables.iter().enumerate().map(|(i, _)| i < 5).collect();
        Written {
            generator,
            meaning,
            builder,
            streams,
            on: vec![(MAIN, false)],
            scopes: vec![Vec::new()],
            nodes: Vec::new(),
            points: Vec::new(),
            line: 1,
            news: false,
        }
    }

    fn node(&mut self, accesses: Vec<Access>, barrier: bool) {
        let (on, _) = self.on[self.on.len() - 1];
        let NodeId(id) = self.builder.node(on, accesses, barrier);
        assert_eq!(id as usize, self.nodes.len());
        self.nodes.push(self.line);
    }

    fn point(&mut self, defines: Vec<Access>) {
        let (on, _) = self.on[self.on.len() - 1];
        let PointId(id) = self.builder.point(on, defines);
        assert_eq!(id as usize, self.points.len());
        self.points.push(self.line);
    }

    fn enter(&mut self, stream: u32) {
        self.point(Vec::new());
        let stream = match self.streams.get(stream as usize) {
            Some(&stream) => (stream, false),
            None => (self.builder.begin_unknown("&ss[i]".to_owned()), true),
        };
        self.on.push(stream);
    }

    fn leave(&mut self) {
        if let Some((stream, true)) = self.on.pop() {
            self.builder.end_unknown(stream);
        }
    }

    fn declare(&mut self, var: VarId) {
        self.builder.declare(var);
        self.meaning.alive[var.index()] = true;
        if let Some(scope) = self.scopes.last_mut() {
            scope.push(var);
        }
    }

    fn lines(&mut self) {
        let generator = self.generator;
        for (stream, line) in &generator.lines {
            self.line += 1;
            match line {
                Line::Run { calls, gives, declares } => {
                    gives.iter().filter(|_| *declares).for_each(|(access, _)| self.declare(access.var));
                    stream.iter().for_each(|stream| self.enter(*stream));
                    for call in calls {
                        let accesses = self.meaning.call(call);
                        self.node(accesses, false);
                    }
                    for (access, made_of) in gives {
                        let used = made_of.iter().flat_map(|&i| self.meaning.call(&calls[i])).collect();
                        self.news |= self.meaning.learn(access.var, used);
                    }
                    self.point(gives.iter().map(|(access, _)| access.clone()).collect());
                    stream.iter().for_each(|_| self.leave());
                    self.point(Vec::new());
                }
                Line::Move { from, to } => {
                    self.declare(*to);
                    let used = self.meaning.reached(&Access::new(*from, Mode::Read));
                    self.news |= self.meaning.learn(*to, used);
                    self.point(Vec::new());
                    self.builder.transfer(Access::new(*from, Mode::Read), Access::new(*to, Mode::Write), true);
                }
                Line::Push { to, of } => {
                    let used = self.meaning.reached(&Access::new(*of, Mode::Read));
                    self.news |= self.meaning.learn(*to, used.clone());
                    let written = self.meaning.reached(&Access::new(*to, Mode::Write));
                    self.node([written, used].concat(), false);
                    self.point(Vec::new());
                }
                Line::Split { of, halves } => {
                    let used = self.meaning.reached(&Access::new(*of, Mode::Write));
                    self.node(used.clone(), false);
                    for half in halves {
                        self.declare(*half);
                        let same = Borrow { access: Access::new(*of, Mode::Read), same: true };
                        if !self.meaning.borrows[half.index()].contains(&same) {
                            self.meaning.borrows[half.index()].push(same);
                            self.news = true;
                        }
                        self.news |= self.meaning.learn(*half, used[1..].to_vec());
                    }
                    self.point(halves.iter().map(|half| Access::new(*half, Mode::Write)).collect());
                }
                Line::Open { header } => {
                    self.scopes.push(Vec::new());
                    self.enter(stream.unwrap_or(0));
                    for (_, access) in header {
                        let accesses = self.meaning.reached(access);
                        self.node(accesses, true);
                    }
                }
                Line::Close { of } => {
                    let (line, (_, open)) = (self.line, &generator.lines[*of]);
                    let Line::Open { header } = open else { continue };
                    for var in self.scopes.pop().into_iter().flatten() {
                        self.meaning.alive[var.index()] = false;
                    }
                    // What a block states is recorded at its end, and shown at its head.
                    self.line = of + 2;
                    for (_, access) in header.iter().filter(|(word, _)| *word != "after") {
                        let touched = self.meaning.reached(access);
                        touched.into_iter().for_each(|access| self.builder.touch(access));
                    }
                    self.point(Vec::new());
                    self.line = line;
                    self.leave();
                    self.point(Vec::new());
                }
            }
        }
    }
}

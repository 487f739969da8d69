//! Random straight-line programs: made from a number, printed, turned into a [`Model`], and made smaller.

use std::fmt::{self, Write};

use crate::model::{Access, Builder, MAIN, Mode, Model, Part, StreamId, VarId};

/// SplitMix64.
pub(super) struct Random(pub(super) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, n: u32) -> u32 {
        (self.next() % u64::from(n)) as u32
    }

    pub(super) fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }
}

#[derive(Clone)]
pub(super) struct Program {
    /// Besides `main`, which is stream 0.
    streams: u32,
    variables: u32,
    pub(super) body: Vec<Statement>,
}

#[derive(Clone)]
pub(super) enum Statement {
    /// A variable is declared again, as in another scope.
    Declare(u32),
    Move {
        from: Access,
        to: Access,
        replaces: bool,
    },
    /// Its parts in evaluation order, then a point that gives a value to the places.
    Run {
        parts: Vec<Step>,
        defines: Vec<Access>,
    },
}

#[derive(Clone)]
pub(super) enum Step {
    Node(Vec<Access>),
    Block(Block),
}

/// A block on a stream, or on one of which nothing is known.
#[derive(Clone)]
pub(super) struct Block {
    stream: Option<u32>,
    header: Vec<(Header, Access)>,
    body: Vec<Statement>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Header {
    After,
    Reads,
    Writes,
}

impl Program {
    /// A program of 1 to 200 statements on 2 to 16 streams; most are short.
    pub(super) fn random(seed: u64) -> Program {
        let mut random = Random(seed);
        let size = [14, 14, 14, 14, 14, 40, 40, 40, 90, 200][random.below(10) as usize];
        let budget = 1 + random.below(size);
        // `main` is one of them.
        let (streams, variables) = (1 + random.below(15), 1 + random.below(9));
        let mut generator = Generator { random, streams, variables, left: budget };
        let mut body = Vec::new();
        while generator.left > 0 {
            body.push(generator.statement(0));
        }
        Program { streams, variables, body }
    }

    pub(super) fn model(&self) -> Model {
        let mut builder = Builder::default();
        let named = (0..self.streams).map(|s| builder.stream(format!("s{}", s + 1)));
        let streams: Vec<StreamId> = [MAIN].into_iter().chain(named.collect::<Vec<_>>()).collect();
        for _ in 0..self.variables {
            let var = builder.var();
            builder.declare(var);
        }
        build(&mut builder, &streams, MAIN, &self.body);
        builder.finish()
    }

    /// The program without the part of this number, counted in the order they are printed; `None` behind the last.
    fn without(&self, part: usize) -> Option<Program> {
        let mut smaller = self.clone();
        remove(&mut smaller.body, &mut { part }).then_some(smaller)
    }

    /// The smallest program found that still fails.
    pub(super) fn shrunk(self, fails: impl Fn(&Program) -> bool) -> Program {
        let mut smallest = self;
        let (mut part, mut progress) = (0, false);
        loop {
            match smallest.without(part) {
                Some(smaller) if fails(&smaller) => (smallest, progress) = (smaller, true),
                Some(_) => part += 1,
                None if progress => (part, progress) = (0, false),
                None => return smallest,
            }
        }
    }
}

/// As `access` does it: what a block's stream touches is recorded before another stream takes over.
fn build(builder: &mut Builder, streams: &[StreamId], on: StreamId, body: &[Statement]) {
    for statement in body {
        match statement {
            Statement::Declare(var) => builder.declare(VarId(*var)),
            Statement::Move { from, to, replaces } => {
                builder.transfer(from.clone(), to.clone(), *replaces);
            }
            Statement::Run { parts, defines } => {
                for part in parts {
                    match part {
                        Step::Node(accesses) => {
                            builder.node(on, accesses.clone(), false);
                        }
                        Step::Block(block) => build_block(builder, streams, on, block),
                    }
                }
                builder.point(on, defines.clone());
            }
        }
    }
}

fn build_block(builder: &mut Builder, streams: &[StreamId], outer: StreamId, block: &Block) {
    builder.point(outer, Vec::new());
    let on = match block.stream {
        Some(stream) => streams[stream as usize],
        None => builder.begin_unknown("&streams[i]".to_owned()),
    };
    for (_, access) in &block.header {
        builder.node(on, vec![access.clone()], true);
    }
    build(builder, streams, on, &block.body);
    builder.point(on, Vec::new());
    for (_, access) in block.header.iter().filter(|(header, _)| *header != Header::After) {
        builder.touch(access.clone());
    }
    builder.point(on, Vec::new());
    if block.stream.is_none() {
        builder.end_unknown(on);
    }
}

/// Removes one part: a statement, a block, a block's braces, a node, an access. False if there are fewer.
fn remove(body: &mut Vec<Statement>, part: &mut usize) -> bool {
    fn hit(part: &mut usize) -> bool {
        *part = part.wrapping_sub(1);
        *part == usize::MAX
    }
    fn remove_one<T>(list: &mut Vec<T>, part: &mut usize) -> bool {
        let found = (0..list.len()).find(|_| hit(part));
        found.map(|i| list.remove(i)).is_some()
    }
    for i in 0..body.len() {
        if hit(part) {
            body.remove(i);
            return true;
        }
        let Statement::Run { parts, defines } = &mut body[i] else { continue };
        for j in 0..parts.len() {
            if hit(part) {
                parts.remove(j);
                return true;
            }
            match &mut parts[j] {
                Step::Node(accesses) => {
                    if remove_one(accesses, part) {
                        return true;
                    }
                }
                Step::Block(block) => {
                    if hit(part) {
                        let inner = std::mem::take(&mut block.body);
                        body.splice(i..=i, inner);
                        return true;
                    }
                    if remove_one(&mut block.header, part) || remove(&mut block.body, part) {
                        return true;
                    }
                }
            }
        }
        if remove_one(defines, part) {
            return true;
        }
    }
    false
}

struct Generator {
    random: Random,
    streams: u32,
    variables: u32,
    /// How many statements are still to come.
    left: u32,
}

impl Generator {
    fn statement(&mut self, depth: u32) -> Statement {
        self.left = self.left.saturating_sub(1);
        match self.random.below(20) {
            0 => Statement::Declare(self.random.below(self.variables)),
            1 | 2 => {
                let (from, to) = (self.place(Mode::Read), self.place(Mode::Write));
                if from.var == to.var {
                    return Statement::Declare(to.var.0);
                }
                Statement::Move { from, to, replaces: self.random.chance(70) }
            }
            _ => {
                let parts = 1 + self.random.below(5) / 3;
                let parts = (0..parts).map(|_| self.part(depth)).collect();
                let defines = if self.random.chance(30) { vec![self.place(Mode::Write)] } else { Vec::new() };
                Statement::Run { parts, defines }
            }
        }
    }

    fn part(&mut self, depth: u32) -> Step {
        // Most of what happens outside of blocks is blocks.
        if depth < 4 && self.random.chance([85, 15, 12, 8][depth as usize]) {
            return Step::Block(self.block(depth));
        }
        let accesses = self.random.below(4);
        Step::Node((0..accesses).map(|_| self.any_access()).collect())
    }

    fn block(&mut self, depth: u32) -> Block {
        let stream = (!self.random.chance(5)).then(|| self.random.below(self.streams + 1));
        let mut header = Vec::new();
        while self.random.chance(10) {
            header.push(match self.random.below(4) {
                0 | 1 => (Header::After, self.place(Mode::Read)),
                2 => (Header::Reads, self.place(Mode::Read)),
                _ => (Header::Writes, self.place(Mode::Write)),
            });
        }
        let statements = 1 + self.random.below(4) * self.random.below(2);
        let body = (0..statements).map(|_| self.statement(depth + 1)).collect();
        Block { stream, header, body }
    }

    fn any_access(&mut self) -> Access {
        let mode = if self.random.chance(40) { Mode::Write } else { Mode::Read };
        let mut access = self.place(mode);
        if self.random.chance(5) {
            access.part = Some(Part { group: self.random.below(2), name: self.random.below(2) });
        }
        access
    }

    /// A variable, a field of it, a field of a field, or an element of one of these.
    fn place(&mut self, mode: Mode) -> Access {
        let depth = [0, 0, 0, 1, 1, 2][self.random.below(6) as usize];
        let path = (0..depth).map(|_| self.random.below(2)).collect();
        let whole = !self.random.chance(15);
        Access { path, whole, ..Access::new(VarId(self.random.below(self.variables)), mode) }
    }
}

// ---------------------------------------------------------------------------------------------------------- as text

pub(super) fn place(access: &Access) -> String {
    let mut text = format!("x{}", access.var.0);
    access.path.iter().for_each(|field| text += &format!(".f{field}"));
    if let Some(part) = access.part {
        text += &format!("/{}:{}", part.group, part.name);
    }
    if access.whole { text } else { text + "[i]" }
}

fn places(accesses: &[Access]) -> String {
    accesses.iter().map(place).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} variables, {} streams and main", self.variables, self.streams)?;
        let mut text = String::new();
        print(&mut text, 0, &self.body)?;
        f.write_str(&text)
    }
}

fn print(text: &mut String, indent: usize, body: &[Statement]) -> fmt::Result {
    let pad = "    ".repeat(indent);
    for statement in body {
        match statement {
            Statement::Declare(var) => writeln!(text, "{pad}declare x{var};")?,
            Statement::Move { from, to, replaces } => {
                let sign = if *replaces { "=" } else { "takes in" };
                writeln!(text, "{pad}{} {sign} {};", place(to), place(from))?;
            }
            Statement::Run { parts, defines } => {
                for part in parts {
                    match part {
                        Step::Node(accesses) => {
                            let uses: Vec<_> = accesses.iter().map(|a| format!("{} {}", a.mode, place(a))).collect();
                            writeln!(text, "{pad}node({})", uses.join(", "))?;
                        }
                        Step::Block(block) => {
                            let stream = block.stream.map_or("unknown".to_owned(), |stream| format!("s{stream}"));
                            let header = block.header.iter().map(|(header, access)| {
                                let name = match header {
                                    Header::After => "after",
                                    Header::Reads => "reads",
                                    Header::Writes => "writes",
                                };
                                format!(", {name}({})", place(access))
                            });
                            writeln!(text, "{pad}{stream}{} {{", header.collect::<String>())?;
                            print(text, indent + 1, &block.body)?;
                            writeln!(text, "{pad}}}")?;
                        }
                    }
                }
                writeln!(text, "{pad}point gives ({});", places(defines))?;
            }
        }
    }
    Ok(())
}

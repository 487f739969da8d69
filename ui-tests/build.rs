//! Writes random `#[multicore]` programs, which `tests/random_programs.rs` compiles and runs.
//!
//! `MULTICORE_SEED` and `MULTICORE_PROGRAMS` choose others and more of them.

use std::fmt::Write;

fn main() {
    println!("cargo::rerun-if-env-changed=MULTICORE_SEED");
    println!("cargo::rerun-if-env-changed=MULTICORE_PROGRAMS");
    println!("cargo::rerun-if-changed=build.rs");
    let number = |name: &str, default: u64| match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} takes a number, not `{text}`")),
        Err(_) => default,
    };
    let (seed, programs) = (number("MULTICORE_SEED", 1), number("MULTICORE_PROGRAMS", 60));
    let mut out = String::new();
    for i in 0..programs {
        Program::new(seed.wrapping_mul(1 << 20).wrapping_add(i)).write(i, &mut out);
    }
    let names: Vec<_> = (0..programs).map(|i| format!("program_{i}")).collect();
    let _ = writeln!(out, "const PROGRAMS: &[Program] = &[{}];", names.join(", "));
    let path = std::path::Path::new(&std::env::var("OUT_DIR").expect("cargo sets OUT_DIR")).join("programs.rs");
    std::fs::write(path, out).expect("OUT_DIR can be written");
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

struct Program {
    random: Random,
    streams: usize,
    /// Names in scope, and whether they are `mut`.
    variables: Vec<(String, bool)>,
    /// Containers in scope.
    vectors: usize,
    named: usize,
    flags: usize,
    loops: usize,
    text: String,
    indent: usize,
}

impl Program {
    fn new(seed: u64) -> Program {
        let mut random = Random(seed);
        let streams = 2 + random.below(4);
        Program {
            random,
            streams,
            variables: Vec::new(),
            vectors: 0,
            named: 0,
            flags: 0,
            loops: 0,
            text: String::new(),
            indent: 1,
        }
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "{}{text}", "    ".repeat(self.indent));
    }

    fn write(mut self, number: u64, out: &mut String) {
        for _ in 0..3 {
            let name = self.fresh("v");
            self.line(&format!("let mut {name} = start(x, {}.0)?;", self.named));
            self.variables.push((name, true));
        }
        self.line("let mut outs: Vec<Tensor> = Vec::new();");
        self.vectors = 1;
        let statements = 6 + self.random.below(14);
        for _ in 0..statements {
            self.statement(0, false);
        }
        let all: Vec<_> = self.variables.iter().map(|(name, _)| format!("{name}.clone()")).collect();
        self.line(&format!("outs.extend([{}]);", all.join(", ")));
        let streams: Vec<_> = (0..self.streams).map(|i| format!("s{i}")).collect();
        let take: Vec<_> = streams.iter().enumerate().map(|(i, s)| format!("    let {s} = &streams[{i}];\n")).collect();
        let _ = writeln!(
            out,
            "#[multicore]\nfn program_{number}(streams: &[Stream], x: &Tensor, mut flags: Flags) -> Result<Vec<Tensor>> {{\n\
             {}{}    Ok(outs)\n}}\n",
            take.concat(),
            self.text
        );
    }

    fn fresh(&mut self, prefix: &str) -> String {
        self.named += 1;
        // A name is used again now and then: shadowing.
        if prefix == "t" && self.random.chance(15) {
            return "t".to_owned();
        }
        format!("{prefix}{}", self.named)
    }

    fn variable(&mut self) -> String {
        let i = self.random.below(self.variables.len());
        self.variables[i].0.clone()
    }

    fn mutable(&mut self) -> String {
        // A later variable of the same name hides an earlier one.
        let visible: Vec<_> = (0..self.variables.len())
            .filter(|&i| self.variables[i].1 && !self.variables[i + 1..].iter().any(|v| v.0 == self.variables[i].0))
            .collect();
        let i = visible[self.random.below(visible.len())];
        self.variables[i].0.clone()
    }

    fn constant(&mut self) -> String {
        format!("{}.5", self.random.below(3))
    }

    /// An expression that launches something and gives a tensor.
    fn value(&mut self) -> String {
        let (a, b, c) = (self.variable(), self.variable(), self.constant());
        match self.random.below(6) {
            0 | 1 => format!("affine(&{a}, {c})?"),
            2 | 3 => format!("combine(&{a}, &{b})?"),
            4 => format!("affine(&{a}, {c})?.minus(&{b})?"),
            _ => format!("{a}.minus(&affine(&{b}, {c})?)?"),
        }
    }

    fn stream(&mut self, in_loop: bool) -> String {
        let n = self.streams;
        match self.random.below(10) {
            0 => "main".to_owned(),
            1 if in_loop => format!("&streams[i % {n}]"),
            _ => format!("s{}", self.random.below(n)),
        }
    }

    fn header(&mut self, in_loop: bool) -> String {
        let stream = self.stream(in_loop);
        let cores = if self.random.chance(30) {
            format!(", cores(vector = {})", 1 + self.random.below(48))
        } else {
            String::new()
        };
        let after = if self.random.chance(5) { format!(", after({})", self.variable()) } else { String::new() };
        format!("{stream}{cores}{after}")
    }

    fn flag(&mut self) -> &'static str {
        self.flags += 1;
        "flags.next()"
    }

    fn block(&mut self, depth: usize, in_loop: bool, statements: usize) {
        let (variables, indent) = (self.variables.len(), self.indent);
        self.indent += 1;
        for _ in 0..statements {
            self.statement(depth + 1, in_loop);
        }
        self.indent = indent;
        self.variables.truncate(variables);
    }

    fn statement(&mut self, depth: usize, in_loop: bool) {
        let header = self.header(in_loop);
        match self.random.below(if depth < 3 { 17 } else { 10 }) {
            0 | 1 => {
                let (value, name) = (self.value(), self.fresh("t"));
                let mutable = self.random.chance(40);
                let keyword = if mutable { "let mut" } else { "let" };
                self.line(&format!("{keyword} {name} = stream!({header}, {{ {value} }});"));
                if mutable {
                    // Written at least once, so that `mut` is needed.
                    self.line(&format!("affine_(&mut {name}, 0.5)?;"));
                }
                self.variables.push((name, mutable));
            }
            2 | 3 => {
                let (target, value) = (self.mutable(), self.value());
                self.line(&format!("stream!({header}, {{ {target} = {value}; }});"));
            }
            4 | 5 => {
                let (target, c) = (self.mutable(), self.constant());
                self.line(&format!("stream!({header}, {{ affine_(&mut {target}, {c})?; }});"));
            }
            6 => {
                let value = self.value();
                self.line(&format!("outs.push(stream!({header}, {{ {value} }}));"));
            }
            7 => {
                let (a, b) = (self.value(), self.value());
                let (x, y) = (self.fresh("t"), self.fresh("u"));
                self.line(&format!("let ({x}, {y}) = stream!({header}, {{ let a = {a}; (a, {b}) }});"));
                self.variables.push((x, false));
                self.variables.push((y, false));
            }
            8 => {
                let (value, target) = (self.value(), self.mutable());
                self.line(&format!("let last = {value};"));
                self.line(&format!("{target} = last;"));
            }
            9 => {
                let (target, c) = (self.mutable(), self.constant());
                self.line(&format!("stream!({header}, {{ if let Some(last) = outs.last_mut() {{ affine_(last, {c})?; {target} = last.clone(); }} }});"));
            }
            10 | 11 => {
                let flag = self.flag();
                self.line(&format!("if {flag} {{"));
                let n = 1 + self.random.below(3);
                self.block(depth, in_loop, n);
                if self.random.chance(60) {
                    self.line("} else {");
                    let n = 1 + self.random.below(3);
                    self.block(depth, in_loop, n);
                }
                self.line("}");
            }
            12 | 13 => {
                self.loops += 1;
                let label = format!("'l{}", self.loops);
                let n = self.random.below(4);
                self.line(&format!("{label}: for i in 0..{n} {{"));
                let statements = 1 + self.random.below(4);
                self.block(depth, true, statements);
                if self.random.chance(40) {
                    let exit = if self.random.chance(50) { "break" } else { "continue" };
                    let flag = self.flag();
                    let target = self.mutable();
                    self.line(&format!(
                        "    stream!({header}, {{ affine_(&mut {target}, 0.5)?; if {flag} {{ {exit} {label}; }} }});"
                    ));
                    let value = self.value();
                    self.line(&format!("    outs.push(stream!(s0, {{ {value} }}));"));
                }
                self.line("    let _ = i;");
                self.line("}");
            }
            14 => {
                self.line(&format!("stream!({header}, {{"));
                let n = 1 + self.random.below(3);
                self.block(depth, in_loop, n);
                self.line("});");
            }
            15 => {
                let (a, b, name) = (self.value(), self.value(), self.fresh("t"));
                let other = self.header(in_loop);
                let flag = self.flag();
                self.line(&format!(
                    "let {name} = match {flag} {{ true => stream!({header}, {{ {a} }}), false => stream!({other}, {{ {b} }}) }};"
                ));
                self.variables.push((name, false));
            }
            _ => {
                let flag = self.flag();
                let value = self.value();
                self.line(&format!("if {flag} && flags.rarely() {{ outs.push({value}); return Ok(outs); }}"));
            }
        }
    }
}

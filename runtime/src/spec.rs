//! Device specifications: `host:20x40,workers=8,serial`, `sim:910b,dry`. `MULTICORE_SERIAL=1` stands for `serial` in all
//! of them.

use std::path::Path;

use crate::backend::sim::Model;
use crate::error::{Error, Result};
use crate::limit::Cores;
use crate::sim::{Chip, CostTable};

/// A specification, read.
#[derive(Debug, PartialEq)]
pub(crate) struct Spec {
    pub(crate) text: String,
    pub(crate) chip: Cores,
    pub(crate) kind: Kind,
    pub(crate) streams: usize,
    pub(crate) memory: usize,
    pub(crate) serial: bool,
}

/// What kind of device.
#[derive(Debug, PartialEq)]
pub(crate) enum Kind {
    /// In real time, on so many threads.
    Host { workers: usize },
    /// In virtual time.
    Sim(Box<Model>),
}

/// Threads that one device may have.
const MOST_WORKERS: usize = 1024;

/// How long the host needs for a launch when a framework issues each operator (hicann/cann-recipes-infer, LongCat-Flash-
/// Lite: 200 operators, collectives among them, take 11 ms to issue).
const EAGER_NS: u64 = 55_000;
/// How long when a captured graph is replayed; assumed, 1 to 3 us are usual.
const GRAPH_NS: u64 = 2_000;

impl Spec {
    pub(crate) fn parse(text: &str) -> Result<Spec> {
        let fail = |reason: String| Error::DeviceSpec { spec: text.to_owned(), reason };
        let mut parts = text.split(',').map(str::trim);
        let (kind, model) = parts.next().and_then(|p| p.split_once(':').or(Some((p, "")))).unwrap_or_default();
        let mut spec = Spec {
            text: text.to_owned(),
            chip: Cores { cube: 24, vector: 48 },
            kind: Kind::Host { workers: std::thread::available_parallelism().map_or(1, usize::from) },
            streams: 1984,
            memory: usize::MAX / 2,
            serial: std::env::var_os("MULTICORE_SERIAL").is_some_and(|v| v == "1"),
        };
        match kind {
            "host" => spec.chip = cores_of(model).map_err(fail)?.unwrap_or(spec.chip),
            "sim" => {
                let chip = match model {
                    "" => Chip::named("910b1")?,
                    file if file.ends_with(".toml") => Chip::from_file(Path::new(file))?,
                    name => Chip::named(name)?,
                };
                spec.chip = chip.cores();
                spec.memory = (chip.hbm_gib * f64::from(1 << 30)) as usize;
                let (table, issue_ns, ranks) = (CostTable::default(), EAGER_NS, 8);
                let model = Model { chip, table, issue_ns, dry: false, ranks, copy_engines: false };
                spec.kind = Kind::Sim(Box::new(model));
            }
            _ => {
                return Err(fail(format!(
                    "there is no device `{kind}`; write `host`, `host:CUBExVECTOR`, `sim` or `sim:CHIP`"
                )));
            }
        }
        for option in parts {
            spec.option(option).map_err(fail)??;
        }
        Ok(spec)
    }

    /// Takes an option; the outer error says what is wrong with it, the inner one what is wrong with a file.
    fn option(&mut self, option: &str) -> Result<Result<()>, String> {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        let number =
            |least: usize, most: usize| {
                value.parse().ok().filter(|n| (least..=most).contains(n)).ok_or_else(|| {
                    format!("`{key}` takes a number from {least} to {most}, not `{value}`; write `{key}=N`")
                })
            };
        match (&mut self.kind, key) {
            (_, "streams") => self.streams = number(1, 1 << 20)?,
            (_, "memory") => self.memory = number(1, usize::MAX / 2)?,
            (_, "serial") if value.is_empty() => self.serial = true,
            (Kind::Host { workers }, "workers") => *workers = number(1, MOST_WORKERS)?,
            (Kind::Sim(model), "dry") if value.is_empty() => model.dry = true,
            (Kind::Sim(model), "ranks") => model.ranks = number(1, 1 << 16)? as u32,
            (Kind::Sim(model), "comm") => {
                model.copy_engines = match value {
                    "vector" => false,
                    "copy" => true,
                    _ => return Err(format!("`comm` is `vector` (cores) or `copy` (engines), not `{value}`")),
                }
            }
            (Kind::Sim(model), "issue") => {
                let ns = |us: f64| Some((us * 1e3).round() as u64).filter(|_| (0.0..=1e6).contains(&us));
                let given = match value {
                    "eager" => Some(EAGER_NS),
                    "graph" => Some(GRAPH_NS),
                    _ => value.parse().ok().and_then(ns),
                };
                model.issue_ns = given.ok_or_else(|| {
                    format!("`issue` is `eager`, `graph` or microseconds from 0 to 1000000, not `{value}`")
                })?;
            }
            (Kind::Sim(model), "costs") => match CostTable::from_file(Path::new(value)) {
                Ok(table) => model.table = table,
                Err(error) => return Ok(Err(error)),
            },
            (Kind::Host { .. }, _) => {
                return Err(format!(
                    "there is no option `{option}`; the options are `workers=N`, `streams=N`, `memory=BYTES`, `serial`"
                ));
            }
            (Kind::Sim(_), _) => {
                return Err(format!(
                    "there is no option `{option}`; the options are `dry`, `issue=eager|graph|US`, `ranks=N`, \
                     `comm=vector|copy`, `costs=FILE.csv`, `streams=N`, `memory=BYTES`, `serial`"
                ));
            }
        }
        Ok(Ok(()))
    }
}

/// `20x40`; nothing for nothing.
fn cores_of(model: &str) -> Result<Option<Cores>, String> {
    if model.is_empty() {
        return Ok(None);
    }
    let cores = model.split_once('x').and_then(|(c, v)| Some((c.parse().ok()?, v.parse().ok()?)));
    let (cube, vector) = cores
        .filter(|(c, v)| (1..=65536).contains(c) && (1..=65536).contains(v))
        .ok_or_else(|| format!("`{model}` is no chip; write `CUBExVECTOR`, like `host:20x40`"))?;
    Ok(Some(Cores { cube, vector }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(text: &str) -> String {
        Spec::parse(text).map(|_| String::new()).unwrap_or_else(|e| e.to_string())
    }

    #[test]
    fn a_chip_and_options() {
        let spec = Spec::parse("host:20x40,workers=3,streams=7,memory=4096,serial").unwrap();
        assert_eq!(spec.chip, Cores { cube: 20, vector: 40 });
        assert_eq!(spec.kind, Kind::Host { workers: 3 });
        assert_eq!((spec.streams, spec.memory, spec.serial), (7, 4096, true));
        assert_eq!(Spec::parse("host").unwrap().chip, Cores { cube: 24, vector: 48 });
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        assert!(reason("cuda").contains("there is no device `cuda`"));
        assert!(reason("host:0x4").contains("`0x4` is no chip"));
        assert!(reason("host:20").contains("`20` is no chip"));
        assert!(reason("host,workers=0").contains("`workers` takes a number from 1 to 1024, not `0`"));
        assert!(reason("host,workers").contains("write `workers=N`"));
        assert!(reason("host,fast").contains("there is no option `fast`"));
        assert!(reason("host,serial=1").contains("there is no option `serial=1`"));
    }

    #[test]
    fn a_modelled_chip_and_its_options() {
        let model = |text: &str| match Spec::parse(text).unwrap().kind {
            Kind::Sim(model) => *model,
            kind => panic!("{kind:?}"),
        };
        let plain = model("sim:910b");
        assert_eq!((plain.dry, plain.issue_ns, plain.ranks, plain.copy_engines), (false, 55_000, 8, false));
        let other = model("sim:910b3,dry,issue=2.5,ranks=64,comm=copy");
        assert_eq!((other.chip.cube, other.dry, other.issue_ns), (20, true, 2500));
        assert_eq!((other.ranks, other.copy_engines), (64, true));
        assert_eq!(model("sim,issue=graph").issue_ns, 2000);
        assert_eq!(Spec::parse("sim:910b4").unwrap().memory, 32 << 30);
        assert!(reason("sim:b200").contains("there is no chip `b200`"));
        assert!(reason("sim,workers=2").contains("there is no option `workers=2`; the options are `dry`"));
        assert!(reason("sim,issue=-1").contains("not `-1`"));
        assert!(reason("sim,comm=fast").contains("`comm` is `vector` (cores) or `copy` (engines), not `fast`"));
        assert!(reason("sim,costs=/nowhere.csv").contains("cannot be read"));
    }
}

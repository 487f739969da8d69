//! Device specifications: `host:20x40,workers=8,serial`. `MULTICORE_SERIAL=1` stands for `serial` in all of them.

use crate::error::{Error, Result};
use crate::limit::Cores;

/// A specification, read.
#[derive(Debug, PartialEq)]
pub(crate) struct Spec {
    pub(crate) text: String,
    pub(crate) chip: Cores,
    pub(crate) workers: usize,
    pub(crate) streams: usize,
    pub(crate) memory: usize,
    pub(crate) serial: bool,
}

/// Threads that one device may have.
const MOST_WORKERS: usize = 1024;

impl Spec {
    pub(crate) fn parse(text: &str) -> Result<Spec> {
        let fail = |reason: String| Error::DeviceSpec { spec: text.to_owned(), reason };
        let mut parts = text.split(',').map(str::trim);
        let (kind, model) = parts.next().and_then(|p| p.split_once(':').or(Some((p, "")))).unwrap_or_default();
        if kind != "host" {
            return Err(fail(format!("there is no device `{kind}`; write `host` or `host:CUBExVECTOR`")));
        }
        let mut spec = Spec {
            text: text.to_owned(),
            chip: Cores { cube: 24, vector: 48 },
            workers: std::thread::available_parallelism().map_or(1, usize::from),
            streams: 1984,
            memory: usize::MAX / 2,
            serial: std::env::var_os("MULTICORE_SERIAL").is_some_and(|v| v == "1"),
        };
        if !model.is_empty() {
            let cores = model.split_once('x').and_then(|(c, v)| Some((c.parse().ok()?, v.parse().ok()?)));
            let (cube, vector) = cores
                .filter(|(c, v)| (1..=65536).contains(c) && (1..=65536).contains(v))
                .ok_or_else(|| fail(format!("`{model}` is no chip; write `CUBExVECTOR`, like `host:20x40`")))?;
            spec.chip = Cores { cube, vector };
        }
        for option in parts {
            let (key, value) = option.split_once('=').unwrap_or((option, ""));
            let number = |least: usize, most: usize| {
                value.parse().ok().filter(|n| (least..=most).contains(n)).ok_or_else(|| {
                    fail(format!("`{key}` takes a number from {least} to {most}, not `{value}`; write `{key}=N`"))
                })
            };
            match key {
                "workers" => spec.workers = number(1, MOST_WORKERS)?,
                "streams" => spec.streams = number(1, 1 << 20)?,
                "memory" => spec.memory = number(1, usize::MAX / 2)?,
                "serial" if value.is_empty() => spec.serial = true,
                _ => {
                    return Err(fail(format!(
                        "there is no option `{option}`; the options are `workers=N`, `streams=N`, `memory=BYTES`, `serial`"
                    )));
                }
            }
        }
        Ok(spec)
    }
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
        assert_eq!((spec.workers, spec.streams, spec.memory, spec.serial), (3, 7, 4096, true));
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
}

//! Modelled chips: those of `chips.toml`, and a user's own.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::limit::Cores;

/// The numbers of a chip that the cost model works with. `chips.toml` in this crate's source has the source of each.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Chip {
    /// Cube cores.
    pub cube: u32,
    /// Vector cores.
    pub vector: u32,
    /// The clock of the cores, in MHz.
    pub clock_mhz: f64,
    /// Device memory, in GiB.
    pub hbm_gib: f64,
    /// The cache that all cores share, in MiB.
    pub l2_mib: f64,
    /// What all cores together read from device memory, in GB/s.
    pub hbm_gb_s: f64,
    /// What one core reads from device memory, in bytes a cycle.
    pub core_hbm_bytes: f64,
    /// What one core reads from the shared cache, in bytes a cycle.
    pub core_l2_bytes: f64,
    /// What all cores together read from the shared cache, in GB/s.
    pub l2_gb_s: f64,
    /// Multiply-adds a cycle of a cube core, on 16-bit operands.
    pub macs: f64,
    /// 16-bit elements a cycle of a vector core.
    pub lanes: f64,
    /// What the device sends over all its links together, in GB/s.
    pub link_gb_s: f64,
    /// What it sends to one other device, in GB/s.
    pub peer_gb_s: f64,
}

/// Other names of chips.
const ALIASES: [(&str, &str); 2] = [("910b", "910b1"), ("a3", "910_9391")];

impl Chip {
    /// A chip by name: `910b1` (also `910b`), `910b2`, `910b3`, `910b4`, `910_9391` (a die of Atlas A3, also `a3`); upper
    /// and lower case are the same.
    ///
    /// ```
    /// let chip = multicore::sim::Chip::named("910B3")?;
    /// assert_eq!((chip.cube, chip.vector), (20, 40));
    /// # Ok::<(), multicore::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::DeviceSpec`] with the names there are.
    pub fn named(name: &str) -> Result<Chip> {
        let lower = name.to_lowercase();
        let name_of = ALIASES.iter().find(|(alias, _)| *alias == lower).map_or(lower.as_str(), |(_, name)| name);
        let mut chips = built_in()?;
        let names = chips.keys().cloned().collect::<Vec<_>>().join("`, `");
        chips.remove(name_of).ok_or_else(|| Error::DeviceSpec {
            spec: format!("sim:{name}"),
            reason: format!(
                "there is no chip `{name}`; the chips are `{names}`, or write `sim:FILE.toml` for your own"
            ),
        })
    }

    /// A chip of one's own: the keys of this type as TOML, all of them.
    ///
    /// # Errors
    /// [`Error::DeviceSpec`] when the file cannot be read, a key is missing or unknown, or a number is not above 0.
    pub fn from_file(path: &Path) -> Result<Chip> {
        let fail = |reason: String| Error::DeviceSpec { spec: format!("sim:{}", path.display()), reason };
        let text = std::fs::read_to_string(path).map_err(|error| fail(format!("the chip cannot be read: {error}")))?;
        let chip: Chip = toml::from_str(&text).map_err(|error| fail(format!("the chip cannot be read: {error}")))?;
        match chip.fault() {
            None => Ok(chip),
            Some(reason) => Err(fail(reason)),
        }
    }

    /// Its cores.
    pub fn cores(&self) -> Cores {
        Cores { cube: self.cube, vector: self.vector }
    }

    /// Cycles a nanosecond.
    pub(crate) fn ghz(&self) -> f64 {
        self.clock_mhz / 1000.0
    }

    /// What is wrong with the numbers.
    fn fault(&self) -> Option<String> {
        let numbers = [
            ("cube", f64::from(self.cube)),
            ("vector", f64::from(self.vector)),
            ("clock_mhz", self.clock_mhz),
            ("hbm_gib", self.hbm_gib),
            ("l2_mib", self.l2_mib),
            ("hbm_gb_s", self.hbm_gb_s),
            ("core_hbm_bytes", self.core_hbm_bytes),
            ("core_l2_bytes", self.core_l2_bytes),
            ("l2_gb_s", self.l2_gb_s),
            ("macs", self.macs),
            ("lanes", self.lanes),
            ("link_gb_s", self.link_gb_s),
            ("peer_gb_s", self.peer_gb_s),
        ];
        let wrong = numbers.into_iter().find(|(_, value)| !(*value > 0.0 && value.is_finite() && *value < 1e9));
        wrong.map(|(key, value)| format!("`{key}` is {value}: write a number above 0"))
    }
}

fn built_in() -> Result<BTreeMap<String, Chip>> {
    toml::from_str(include_str!("chips.toml")).map_err(|error| Error::DeviceSpec {
        spec: "sim".to_owned(),
        reason: format!("the chips cannot be read: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_chip_can_be_read() {
        for (name, chip) in built_in().unwrap() {
            assert_eq!(chip.fault(), None, "{name}");
            assert_eq!(chip.vector, 2 * chip.cube, "{name}");
        }
        assert_eq!(Chip::named("910B").unwrap(), Chip::named("910b1").unwrap());
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let reason = |result: Result<Chip>| result.map(|_| String::new()).unwrap_or_else(|e| e.to_string());
        assert!(reason(Chip::named("h100")).contains("the chips are `910_9391`, `910b1`"));
        let path = std::env::temp_dir().join(format!("multicore-chip-{}.toml", std::process::id()));
        let mine = "cube = 8\nvector = 0\nclock_mhz = 1000\nhbm_gib = 1\nl2_mib = 1\nhbm_gb_s = 1\ncore_hbm_bytes = 1\n\
                    core_l2_bytes = 1\nl2_gb_s = 1\nmacs = 1\nlanes = 1\nlink_gb_s = 1\npeer_gb_s = 1\n";
        std::fs::write(&path, mine).unwrap();
        assert!(reason(Chip::from_file(&path)).contains("`vector` is 0: write a number above 0"));
        std::fs::write(&path, "cube = 8\n").unwrap();
        assert!(reason(Chip::from_file(&path)).contains("missing field"));
        std::fs::write(&path, mine.replace("vector = 0", "vector = 16")).unwrap();
        assert_eq!(Chip::from_file(&path).unwrap().cores(), Cores { cube: 8, vector: 16 });
        std::fs::remove_file(&path).unwrap();
        assert!(reason(Chip::from_file(&path)).contains("cannot be read"));
    }
}

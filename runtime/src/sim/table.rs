//! Measured times that stand in for the cost model: `operator,shape,cores,us`, a line each.

use std::collections::HashMap;
use std::path::Path;

use crate::error::{Error, Result};

/// Measured times of operators, by shape and cores.
///
/// The file has a header `operator,shape,cores,us`. `operator` is the name that profiles show, `shape` the shapes of the
/// inputs as profiles write them (`4096,7168;7168,256`), `cores` how many it ran on (cube cores for an operator that has
/// some, else vector cores). Between two numbers of cores the time follows a + b / cores; outside of them the nearest is
/// taken.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CostTable {
    /// For an operator and its shapes: (cores, ns), ascending.
    times: HashMap<(String, String), Vec<(u32, f64)>>,
}

impl CostTable {
    /// Reads a file.
    ///
    /// # Errors
    /// [`Error::DeviceSpec`] with the line and what is wrong with it.
    pub fn from_file(path: &Path) -> Result<CostTable> {
        let fail = |reason: String| Error::DeviceSpec { spec: format!("costs={}", path.display()), reason };
        let mut reader = csv::Reader::from_path(path).map_err(|error| fail(format!("cannot be read: {error}")))?;
        let titles = reader.headers().map_err(|error| fail(error.to_string()))?.clone();
        if titles.iter().map(str::trim).ne(["operator", "shape", "cores", "us"]) {
            return Err(fail("the first line must be `operator,shape,cores,us`".to_owned()));
        }
        let mut table = CostTable::default();
        for row in reader.records() {
            let row = row.map_err(|error| fail(error.to_string()))?;
            let line = row.position().map_or(0, csv::Position::line);
            let [operator, shape, cores, us] = [0, 1, 2, 3].map(|i| row.get(i).unwrap_or_default().trim());
            let cores = cores.parse().ok().filter(|c| *c > 0);
            let us: Option<f64> = us.parse().ok().filter(|us: &f64| us.is_finite() && *us >= 0.0);
            let (Some(cores), Some(us)) = (cores, us) else {
                return Err(fail(format!("line {line}: `cores` must be a number from 1, `us` a time from 0")));
            };
            table.times.entry((operator.to_owned(), shape.to_owned())).or_default().push((cores, us * 1e3));
        }
        for times in table.times.values_mut() {
            times.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        }
        Ok(table)
    }

    /// True when nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// The time of an operator on `cores`, in ns.
    pub fn ns(&self, operator: &str, shape: &str, cores: u32) -> Option<f64> {
        let times = self.times.get(&(operator.to_owned(), shape.to_owned()))?;
        let above = times.iter().position(|(c, _)| *c >= cores);
        match above {
            None => times.last().map(|(_, ns)| *ns),
            Some(0) => Some(times[0].1),
            Some(i) if times[i].0 == cores => Some(times[i].1),
            Some(i) => {
                let ((c0, t0), (c1, t1)) = (times[i - 1], times[i]);
                let inverse = |c: u32| 1.0 / f64::from(c);
                let share = (inverse(cores) - inverse(c1)) / (inverse(c0) - inverse(c1));
                Some(t1 + share * (t0 - t1))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<CostTable> {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("multicore-costs-{}-{}.csv", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text).unwrap();
        let table = CostTable::from_file(&path);
        std::fs::remove_file(&path).unwrap();
        table
    }

    #[test]
    fn between_two_measurements_the_time_follows_the_inverse_of_the_cores() {
        let table = read("operator,shape,cores,us\nAdd,\"4,4;4,4\",40,2\nAdd,\"4,4;4,4\",10,5\n").unwrap();
        let on = |cores| table.ns("Add", "4,4;4,4", cores);
        assert_eq!((on(5), on(10), on(40), on(48)), (Some(5e3), Some(5e3), Some(2e3), Some(2e3)));
        // a + b / c through both: 1 us + 40 us / c.
        assert!((on(20).unwrap() - 3e3).abs() < 1e-6);
        assert_eq!(table.ns("Mul", "4,4;4,4", 10), None);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let reason = |text| read(text).map(|_| String::new()).unwrap_or_else(|e| e.to_string());
        assert!(reason("op,shape,cores,us\n").contains("must be `operator,shape,cores,us`"));
        assert!(reason("operator,shape,cores,us\nAdd,1,0,2\n").contains("line 2: `cores` must be"));
        assert!(reason("operator,shape,cores,us\nAdd,1,2,NaN\n").contains("line 2"));
    }
}

//! Folders: finds the files of one capture, reads what each is best for, and joins them.
//!
//! Taken is the folder itself, or what is below it: `ASCEND_PROFILER_OUTPUT`, `PROF_*/mindstudio_profiler_output`,
//! `device_0/summary` and `device_0/timeline`; in a folder of a cluster, one of these a rank. Operators come from
//! `kernel_details.csv`, else `op_summary*.csv`, else `task_time*.csv`; waits, records and copies from `trace_view.json`,
//! else `msprof*.json`, else `task_time*.csv`; steps from `step_trace_time.csv`. A database is read where there is neither.

use std::fs;
use std::path::{Path, PathBuf};

use super::builder::Builder;
use super::progress::Meter;
use super::{Options, file, join, step_trace};
use crate::{Error, Result};

/// Folders below the given one in which a profile may be: `cluster/rank_0_ascend_pt/PROF_1/device_0/summary`.
const DEPTH: usize = 5;

/// Reads the capture in a folder into `to`.
pub(crate) fn read(path: &Path, options: &Options<'_>, to: &mut Builder) -> Result<()> {
    let mut profiles = Vec::new();
    find(path, DEPTH, &mut profiles).map_err(Error::read(path))?;
    let profile = choose(path, options.rank, number(profiles, path))?;
    let meter = Meter::new(profile.all().map(|file| size(file)).sum(), options.progress);
    let operators = read_first(&profile.operators, to, &meter);
    let mark = to.mark();
    let timeline = match &operators {
        // A `task_time` beside other tables has waits as well.
        Ok(Some(0 | 1)) => read_first(&[&profile.traces[..], &profile.operators[2..]].concat(), to, &meter),
        _ => read_first(&profile.traces, to, &meter),
    };
    match (operators, timeline) {
        (Ok(Some(_)), Ok(Some(_))) => join::join(to, &mark),
        (Ok(Some(_)), Ok(None)) | (Ok(None), Ok(Some(_))) => {}
        // One of the two is enough; that the other cannot be read is listed.
        (Ok(Some(_)), Err(error)) | (Err(error), Ok(Some(_))) => to.drop_file(&error),
        (Err(error), _) | (_, Err(error)) => return Err(error),
        (Ok(None), Ok(None)) => read_database(&profile, path, to, &meter)?,
    }
    if let Some(steps) = &profile.steps
        && let Err(error) = meter.open(steps).and_then(|from| step_trace::read(from, steps, to))
    {
        to.drop_file(&error);
    }
    Ok(())
}

/// Reads the first group of files that has operators. Says which that is; `None` if there are no files.
///
/// # Errors
///
/// That of the last group, if none has operators; those of others are listed.
fn read_first(groups: &[Vec<PathBuf>], to: &mut Builder, meter: &Meter<'_>) -> Result<Option<usize>> {
    let mut last = Ok(None);
    for (index, group) in groups.iter().enumerate().filter(|(_, group)| !group.is_empty()) {
        if let Err(error) = &last {
            to.drop_file(error);
        }
        last = read_group(group, to, meter).map(|()| Some(index));
        if last.is_ok() {
            break;
        }
    }
    last
}

/// Reads files that belong together, such as the slices of one export.
///
/// # Errors
///
/// That of the first file, if none can be read; those of some are listed.
fn read_group(group: &[PathBuf], to: &mut Builder, meter: &Meter<'_>) -> Result<()> {
    let errors: Vec<Error> = group.iter().filter_map(|path| file(path, to, meter).err()).collect();
    if errors.len() == group.len() {
        return errors.into_iter().next().map_or(Ok(()), Err);
    }
    errors.iter().for_each(|error| to.drop_file(error));
    Ok(())
}

fn read_database(profile: &Profile, path: &Path, to: &mut Builder, meter: &Meter<'_>) -> Result<()> {
    match profile.databases.first() {
        Some(database) => file(database, to, meter),
        None => Err(Error::no_data(path, "only sums of steps, no operators: is the export complete?")),
    }
}

/// The files of a capture.
#[derive(Debug, Default)]
struct Profile {
    folder: PathBuf,
    rank: Option<u32>,
    /// Files with operators, best first; those of a group belong together.
    operators: [Vec<PathBuf>; 3],
    traces: [Vec<PathBuf>; 2],
    steps: Option<PathBuf>,
    databases: Vec<PathBuf>,
}

impl Profile {
    fn all(&self) -> impl Iterator<Item = &PathBuf> {
        self.operators.iter().chain(&self.traces).flatten().chain(&self.steps)
    }

    fn is_empty(&self) -> bool {
        self.all().next().is_none() && self.databases.is_empty()
    }

    fn add(&mut self, path: PathBuf) {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return };
        let is = |start: &str, end: &str| name.starts_with(start) && name.ends_with(end);
        if is("kernel_details", ".csv") {
            self.operators[0].push(path);
        } else if is("op_summary", ".csv") {
            self.operators[1].push(path);
        } else if is("task_time", ".csv") {
            self.operators[2].push(path);
        } else if name == "trace_view.json" || name.ends_with(".pt.trace.json") {
            self.traces[0].push(path);
        } else if is("msprof", ".json") {
            self.traces[1].push(path);
        } else if name == "step_trace_time.csv" {
            self.steps = Some(path);
        } else if is("ascend_pytorch_profiler", ".db") || is("msprof", ".db") {
            self.databases.push(path);
        }
    }

    /// Each export of the same profile writes files with its own time in their names: keeps those of the last.
    fn keep_last_export(&mut self) {
        for group in self.operators.iter_mut().chain(&mut self.traces) {
            let last = group.iter().map(|path| export(path)).max();
            group.retain(|path| Some(export(path)) == last);
        }
    }
}

/// The time in `op_summary_slice_0_20230919172305.csv`.
fn export(path: &Path) -> u64 {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    stem.rsplit('_').next().and_then(|time| time.parse().ok()).unwrap_or(0)
}

/// Collects the profiles in and below a folder.
fn find(folder: &Path, depth: usize, found: &mut Vec<Profile>) -> std::io::Result<()> {
    let mut profile = Profile { folder: folder.to_path_buf(), ..Profile::default() };
    let mut below = Vec::new();
    for path in entries(folder)? {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if !path.is_dir() {
            profile.rank = profile.rank.or(rank_of_info(name));
            profile.add(path);
        } else if matches!(name, "summary" | "timeline") {
            entries(&path)?.into_iter().filter(|path| path.is_file()).for_each(|path| profile.add(path));
        } else {
            below.push(path);
        }
    }
    if !profile.is_empty() {
        profile.keep_last_export();
        found.push(profile);
        return Ok(());
    }
    // What PyTorch's profiler made of the raw data beside it says more than the raw data's own export.
    if let Some(output) = below.iter().find(|path| path.ends_with("ASCEND_PROFILER_OUTPUT")) {
        let before = found.len();
        find(output, 1, found)?;
        if found.len() > before {
            found[before..].iter_mut().for_each(|below| below.rank = below.rank.or(profile.rank));
            return Ok(());
        }
    }
    if depth > 0 {
        let before = found.len();
        below.iter().try_for_each(|path| find(path, depth - 1, found))?;
        found[before..].iter_mut().for_each(|below| below.rank = below.rank.or(profile.rank));
    }
    Ok(())
}

fn entries(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn size(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |data| data.len())
}

/// The rank in `profiler_info_3.json`, which PyTorch's profiler writes beside its output.
fn rank_of_info(name: &str) -> Option<u32> {
    name.strip_prefix("profiler_info_")?.strip_suffix(".json")?.parse().ok()
}

/// Gives each profile a rank: from a file beside it, or `rank_3`, `rank3` in its path, or by order.
fn number(mut profiles: Vec<Profile>, path: &Path) -> Vec<Profile> {
    for profile in &mut profiles {
        let below = profile.folder.strip_prefix(path).unwrap_or(&profile.folder);
        profile.rank = profile.rank.or_else(|| below.iter().find_map(|part| rank_of_folder(part.to_str()?)));
    }
    let mut ranks: Vec<_> = profiles.iter().filter_map(|profile| profile.rank).collect();
    ranks.sort_unstable();
    ranks.dedup();
    if ranks.len() < profiles.len() {
        profiles.iter_mut().zip(0..).for_each(|(profile, rank)| profile.rank = Some(rank));
    }
    profiles.sort_by_key(|profile| profile.rank);
    profiles
}

fn rank_of_folder(name: &str) -> Option<u32> {
    let rest = &name[name.find("rank")? + "rank".len()..];
    let digits = rest.trim_start_matches(['_', '-']);
    digits[..digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len())].parse().ok()
}

fn choose(path: &Path, rank: Option<u32>, mut profiles: Vec<Profile>) -> Result<Profile> {
    let ranks = || {
        let named = |p: &Profile| {
            format!("{} = {}", p.rank.unwrap_or(0), p.folder.strip_prefix(path).unwrap_or(path).display())
        };
        profiles.iter().map(named).collect::<Vec<_>>().join(", ")
    };
    let index = match (rank, profiles.len()) {
        (_, 0) => {
            let why = "no kernel_details.csv, op_summary*.csv, task_time*.csv, trace_view.json, msprof*.json or database in \
                       or below it: was the profile exported (msprof --export=on, or the profiler's analyse)?";
            return Err(Error::no_data(path, why));
        }
        (None, 1) => 0,
        (None, count) => {
            let why = format!("{count} ranks ({}): choose one, `--rank {}`", ranks(), profiles[0].rank.unwrap_or(0));
            return Err(Error::unsuitable(path, why));
        }
        (Some(rank), _) => profiles
            .iter()
            .position(|profile| profile.rank == Some(rank))
            .ok_or_else(|| Error::no_data(path, format!("no rank {rank}; there are {}", ranks())))?,
    };
    Ok(profiles.swap_remove(index))
}

//! How many cores were asked for at each moment.

use crate::capture::Row;
use crate::{Capture, Core};

/// The blocks of the operators that run, from a moment on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreSum {
    /// The number of the device.
    pub device: u32,
    /// Since when, in ns, on the capture's own clock.
    pub start_ns: u64,
    /// Blocks on cube cores.
    pub cube: u64,
    /// Blocks on vector cores.
    pub vector: u64,
}

/// Blocks of an operator on cube and on vector cores; 0 where the profile does not say.
///
/// Blocks may outnumber the cores of the chip: they then take turns.
pub fn blocks(row: &Row) -> (u32, u32) {
    let (blocks, mix) = (row.blocks.unwrap_or(0), row.mix_blocks.unwrap_or(0));
    match row.core {
        Core::AiCore => (blocks, 0),
        Core::AiVectorCore => (0, blocks),
        Core::MixAic => (blocks, mix),
        Core::MixAiv => (mix, blocks),
        _ => (0, 0),
    }
}

/// The sum of [`blocks`] over the operators that run, by device and time: one entry a change.
///
/// `limit` is the number of cube and of vector cores of the chip, where it is known: no operator counts for more.
pub fn core_sums(capture: &Capture, limit: Option<(u32, u32)>) -> Vec<CoreSum> {
    let (most_cube, most_vector) = limit.unwrap_or((u32::MAX, u32::MAX));
    let mut changes = Vec::new();
    for row in capture.rows.iter().filter(|row| row.duration_ns > 0) {
        let (cube, vector) = blocks(row);
        let (cube, vector) = (i64::from(cube.min(most_cube)), i64::from(vector.min(most_vector)));
        if (cube, vector) != (0, 0) {
            changes.push((row.device, row.start_ns, cube, vector));
            changes.push((row.device, row.end_ns(), -cube, -vector));
        }
    }
    changes.sort_unstable();

    let mut sums: Vec<CoreSum> = Vec::new();
    let (mut running, mut last) = ((0i64, 0i64), None);
    for moment in changes.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let (device, start_ns) = (moment[0].0, moment[0].1);
        running = moment.iter().fold(running, |sum, change| (sum.0 + change.2, sum.1 + change.3));
        if last != Some((device, running)) {
            // What started has not ended twice, so the sums never go below 0.
            sums.push(CoreSum { device, start_ns, cube: running.0 as u64, vector: running.1 as u64 });
            last = Some((device, running));
        }
    }
    sums
}

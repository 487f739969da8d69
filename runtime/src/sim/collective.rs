//! Collectives as modelled devices see them: launches, one a rank, that go on together.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, KernelResult, Result};
use crate::kernel::{Kernel, Launch, Pattern, Tile, Work};
use crate::limit::CoreKind;

/// One of the launches of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Meeting {
    /// The same for all launches of the collective, and for no other one.
    pub number: u64,
    /// How many launches there are: one a rank.
    pub ranks: u32,
}

/// A group of modelled devices that exchange data: the time that it takes, and who waits for whom. It moves no data.
///
/// Each rank must call the same collectives in the same order, as everywhere; the n-th calls of all ranks are one
/// collective.
///
/// ```
/// use multicore::prelude::*;
/// use multicore::sim::Group;
///
/// # fn main() -> Result<()> {
/// let ranks = Device::open_ranks("sim:910b,dry", 2)?;
/// let group = Group::new(2);
/// for (rank, device) in (0..).zip(&ranks) {
///     let _on = device.default_stream().enter();
///     group.all_to_all(rank, 235e6, 8)?;
/// }
/// ranks[0].synchronize()?;
/// assert!(ranks[0].now_ns() > 1_000_000);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Group {
    number: u64,
    /// Collectives that each rank has called.
    called: Box<[AtomicU64]>,
}

/// Numbers of collectives: those of a group come after one another.
const A_GROUP: u64 = 1 << 32;

impl Group {
    /// A group of so many ranks.
    pub fn new(ranks: u32) -> Group {
        static GROUPS: AtomicU64 = AtomicU64::new(1);
        let number = GROUPS.fetch_add(1, Ordering::Relaxed) * A_GROUP;
        Group { number, called: (0..ranks).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Rank `rank` sends `bytes` to the others, with `blocks` vector cores that are taken all at once.
    ///
    /// # Errors
    /// [`Error::Shape`] when there is no such rank, and those of [`Launch::submit`].
    #[track_caller]
    pub fn all_to_all(&self, rank: u32, bytes: f64, blocks: u32) -> Result<()> {
        let ranks = self.called.len() as f64;
        self.launch("AllToAll", rank, blocks, Pattern::AllToAll { sent: bytes, ranks })
    }

    /// Rank `rank` takes part in a sum of operands of `bytes`, with `blocks` vector cores that are taken all at once.
    ///
    /// # Errors
    /// As [`all_to_all`](Self::all_to_all).
    #[track_caller]
    pub fn all_reduce(&self, rank: u32, bytes: f64, blocks: u32) -> Result<()> {
        let ranks = self.called.len() as f64;
        self.launch("AllReduce", rank, blocks, Pattern::AllReduce { operand: bytes, ranks })
    }

    #[track_caller]
    fn launch(&self, name: &'static str, rank: u32, blocks: u32, pattern: Pattern) -> Result<()> {
        let ranks = self.called.len() as u32;
        let Some(called) = self.called.get(rank as usize) else {
            return Err(Error::Shape {
                operator: name,
                reason: format!("there is no rank {rank} in a group of {ranks}"),
            });
        };
        let number = self.number + called.fetch_add(1, Ordering::Relaxed);
        let exchange =
            Exchange { name, work: Work::default().with_pattern(pattern), blocks, meeting: Meeting { number, ranks } };
        Launch::new(exchange).tiles(blocks.max(1) as usize).submit()
    }
}

struct Exchange {
    name: &'static str,
    work: Work,
    blocks: u32,
    meeting: Meeting,
}

impl Kernel for Exchange {
    fn name(&self) -> &'static str {
        self.name
    }

    fn kind(&self) -> CoreKind {
        CoreKind::Comm
    }

    fn work(&self) -> Work {
        self.work
    }

    fn resident_blocks(&self) -> u32 {
        self.blocks
    }

    fn meeting(&self) -> Option<Meeting> {
        Some(self.meeting)
    }

    fn tile(&self, _: &mut Tile<'_>) -> KernelResult {
        Ok(())
    }
}

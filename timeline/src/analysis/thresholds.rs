//! Every number that a verdict hangs on, with where it comes from. Nothing else in the analysis compares with a literal.

/// From this share on the overlap is real. Published check (`timeline-overlap-check`).
pub const TRUE_OVERLAP: f64 = 0.5;

/// Up to this share the streams ran one after the other. Published check.
pub const SERIAL: f64 = 0.05;

/// Sum of durations over wall up to which the check is owed. Published check.
pub const OWED_SUM_OVER_WALL: f64 = 1.05;

/// Relative change of the wall below which a split counts as without effect, so that the check is owed. Published check.
pub const OWED_WALL_CHANGE: f64 = 0.05;

/// Compute streams that are busy for less than this share of the main stream's time are noise, not side streams.
/// Slivers below 2 % drown the finding in reports of real captures (GindaChen/nsys-ai issue 278).
pub const MINOR_SHARE: f64 = 0.02;

/// How much longer than the shortest run of the same type and shapes an operator lasts before it counts as held up.
/// Measured: healthy repetitions stay within 1.5 (GLM-5.1 decode, main stream); the starved one is at 15.
pub const STARVED_TIMES: f64 = 3.0;

/// Growth of the core time up to which an operator did not compute more, so that it must have waited. Measured: 12.6 us
/// beside the dominator, 15.0 us elsewhere (GLM-5.1 decode).
pub const CORE_TIME_GROWTH: f64 = 1.5;

/// Growth of duration *and* core time from which two overlapped operators slow each other down (memory bandwidth).
/// Communication next to computing grows up to two times (efeslab/Nanoflow issue 14); a quarter is beyond the noise of
/// repetitions in the real captures.
pub const CONTENTION_TIMES: f64 = 1.25;

/// Growth of the core time from which operators that last longer compute longer, rather than wait.
pub const CONTENTION_CORE_GROWTH: f64 = 1.1;

/// Time an operator must have been held up before starvation is worth a line, in ns: launches differ by this much.
pub const STARVED_FLOOR_NS: u64 = 5_000;

/// Share of the layers that must be starved before the whole overlap is called so.
pub const STARVED_LAYERS: f64 = 0.5;

/// Share of a layer's side time spent held up for cores from which the layer is starved.
pub const STARVED_SHARE: f64 = 0.5;

/// Cosine of the counts of operator types from which a stream that starts after another ended continues it. Measured:
/// 0.99 for the two halves of the main stream of DeepSeek-V3 decode, below 0.3 for its other pairs.
pub const CONTINUATION_LIKENESS: f64 = 0.8;

/// Operators a stream needs on each side before likeness says anything.
pub const CONTINUATION_ROWS: usize = 4;

/// Ids of one logical side stream from which there are too many, if each has few operators
/// (vllm-project/vllm-ascend pull request 3667: one side stream for each of 61 layers, prefill at a quarter).
pub const MANY_IDS: usize = 8;

/// Operators on one id up to which it has few.
pub const FEW_OPERATORS: usize = 32;

/// Share of a phase without work from which the host is the bottleneck. MindStudio Insight's guidance on the lane Free.
pub const FREE_SHARE: f64 = 0.10;

/// A gap on a stream up to which the next operator followed at once, in ns. Measured on back-to-back operators: 0.02 to
/// 2 us; a wait ends 1.9 to 2.1 us after what it waited for.
pub const FOLLOWS_NS: u64 = 2_500;

/// A wait shorter than this held nobody up, in ns: satisfied waits last 0.02 us.
pub const WAITED_FLOOR_NS: u64 = 1_000;

/// An operator that runs at least this much into its successor on the same stream has a suspect duration, in ns:
/// rounding and zero-length operators stay below (pytorch/kineto issue 136).
pub const OVERRUN_FLOOR_NS: u64 = 1_000;

/// ... and is taken out if it also lasts this many times the median of its type and shapes (AMD-AGI/TraceLens issue
/// 669: 7 of 55423 operators made 62 % of the time).
pub const OVERRUN_TIMES: f64 = 10.0;

/// Repetitions of (type, shapes) that a median needs before it accuses anybody.
pub const REPEATS: usize = 3;

/// Blocks above this are blocks, not cores: grids of Triton and TileLang kernels (256, 512, 1024). The largest parts
/// have 50 vector cores.
pub const MAX_CORES: u32 = 64;

/// Share of the operators on one kind of core that must ask for as many blocks as the chip is taken to have cores.
/// Measured: a third asks for all 48 vector cores, 2 of 520 for 52 blocks (training, 591 rows).
pub const CORES_SHARE: f64 = 0.01;

/// Differences of medians below this share are noise whatever the spread says.
pub const NOISE_FLOOR: f64 = 0.02;

/// Median absolute deviations that a difference of medians must exceed; 3 covers 95 % of normal noise.
pub const NOISE_DEVIATIONS: f64 = 3.0;

//! One operator that ran, as plain data.

use std::borrow::Cow;
use std::fmt;

/// Where an operator ran, spelled as in CANN's column `Accelerator Core`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Core {
    /// `AI_CORE`: cube cores (matrix).
    AiCore,
    /// `AI_VECTOR_CORE`: vector cores.
    AiVectorCore,
    /// `MIX_AIC`: cube cores together with their vector cores, led by the cube cores.
    MixAic,
    /// `MIX_AIV`: the same, led by the vector cores.
    MixAiv,
    /// `COMMUNICATION` (`HCCL` in older files): a collective or one-sided transfer.
    Communication,
    /// `AI_CPU`: the device's own processors, or the host.
    AiCpu,
    /// `DSA_SQE`: the unit that makes random numbers.
    Dsa,
    /// `CCU`: the unit that runs collectives beside the cores.
    Ccu,
    /// `DPU`: the data processing unit.
    Dpu,
    /// `MEMCPY_ASYNC`: a memory copy or fill, by whatever engine; only traces and databases have these.
    Copy,
    /// `KERNEL`: a kernel of a CUDA or ROCm device, which has one kind of core.
    Gpu,
    /// A kind that none of these is, `Other` in profiles of 2024 included.
    Other,
    /// `N/A`: the profile does not say, as at profiling level 0.
    Unknown,
}

impl Core {
    /// The spelling of the column `Accelerator Core`.
    pub const fn name(self) -> &'static str {
        match self {
            Core::AiCore => "AI_CORE",
            Core::AiVectorCore => "AI_VECTOR_CORE",
            Core::MixAic => "MIX_AIC",
            Core::MixAiv => "MIX_AIV",
            Core::Communication => "COMMUNICATION",
            Core::AiCpu => "AI_CPU",
            Core::Dsa => "DSA_SQE",
            Core::Ccu => "CCU",
            Core::Dpu => "DPU",
            Core::Copy => "MEMCPY_ASYNC",
            Core::Gpu => "KERNEL",
            Core::Other => "OTHER",
            Core::Unknown => "N/A",
        }
    }
}

impl fmt::Display for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One input or output of an operator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Operand {
    /// Sizes, outermost first; empty for a scalar.
    pub shape: Vec<usize>,
    /// The element type as profiles spell it: `FLOAT`, `DT_BF16`, `INT32`, ..
    pub dtype: Cow<'static, str>,
    /// The memory format: `ND` for plain row-major data.
    pub format: Cow<'static, str>,
}

impl Operand {
    /// An operand in the plain format `ND`.
    ///
    /// ```
    /// let x = multicore_timeline::Operand::nd(&[4096, 7168], "DT_BF16");
    /// assert_eq!(x.format, "ND");
    /// ```
    pub fn nd(shape: &[usize], dtype: impl Into<Cow<'static, str>>) -> Operand {
        Operand { shape: shape.to_vec(), dtype: dtype.into(), format: Cow::Borrowed("ND") }
    }
}

/// One operator that ran.
///
/// ```
/// use multicore_timeline::{Core, Record};
///
/// let matmul = Record {
///     stream_id: Some(2),
///     start_ns: 1_774_497_535_428_633_256,
///     duration_ns: 1_380,
///     block_num: 24,
///     ..Record::new("ffn/up", "MatMul", Core::AiCore)
/// };
/// assert_eq!(matmul.end_ns(), 1_774_497_535_428_634_636);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// The name of this operator, unique or not: `aclnnArgMax_CastAiCore_Cast`.
    pub name: Cow<'static, str>,
    /// The kind of operator: `Cast`.
    pub op_type: Cow<'static, str>,
    /// Where it ran.
    pub core: Core,
    /// The number of the device.
    pub device_id: u32,
    /// The logical stream; `None` for rows that belong to no stream (collectives as a whole).
    pub stream_id: Option<u32>,
    /// The position in launch order; `None` where the profiler gives none.
    pub task_id: Option<u64>,
    /// When it started, in ns: since the epoch on real devices, since the device was opened on embedded ones. Start
    /// times compare within one capture only.
    pub start_ns: u64,
    /// How long it took, in ns.
    pub duration_ns: u64,
    /// Blocks it was launched with; may be above the number of cores.
    pub block_num: u32,
    /// Blocks on the other kind of core, for `MIX_AIC` and `MIX_AIV`.
    pub mix_block_num: u32,
    /// What it read, in order.
    pub inputs: Vec<Operand>,
    /// What it wrote, in order.
    pub outputs: Vec<Operand>,
    /// Time that the cube cores worked on it, in ns; `None` if not measured.
    pub aicore_ns: Option<u64>,
    /// Time that the vector cores worked on it, in ns; `None` if not measured.
    pub aiv_ns: Option<u64>,
}

impl Record {
    /// A record of which only the identity is known: device 0, times and blocks 0, no stream, no operands.
    pub fn new(name: impl Into<Cow<'static, str>>, op_type: impl Into<Cow<'static, str>>, core: Core) -> Record {
        Record {
            name: name.into(),
            op_type: op_type.into(),
            core,
            device_id: 0,
            stream_id: None,
            task_id: None,
            start_ns: 0,
            duration_ns: 0,
            block_num: 0,
            mix_block_num: 0,
            inputs: Vec::new(),
            outputs: Vec::new(),
            aicore_ns: None,
            aiv_ns: None,
        }
    }

    /// When it ended, in ns.
    pub fn end_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.duration_ns)
    }
}

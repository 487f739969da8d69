//! What an operator is, as far as the analysis cares: which part of the chip it keeps busy, and whether it is work.
//!
//! The core named in the profile decides. Only where it names none (traces of other vendors, level 0) the operator's type
//! and name do, by the prefixes that the libraries in use give their kernels.

use std::fmt;

use serde::Serialize;

use crate::Core;

/// Which part of the chip an operator keeps busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// Cube cores.
    Cube,
    /// Vector cores.
    Vector,
    /// Cube cores together with vector cores.
    Mix,
    /// Computing on cores that the profile does not name.
    Compute,
    /// Collectives and one-sided transfers.
    Communication,
    /// Copies by a DMA engine.
    Copy,
    /// The device's own processors.
    AiCpu,
    /// The generator of random numbers.
    Random,
}

impl Kind {
    /// All kinds, in the order of reports.
    pub const ALL: [Kind; 8] = [
        Kind::Cube,
        Kind::Vector,
        Kind::Mix,
        Kind::Compute,
        Kind::Communication,
        Kind::Copy,
        Kind::AiCpu,
        Kind::Random,
    ];

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Cube => "cube",
            Kind::Vector => "vector",
            Kind::Mix => "mix",
            Kind::Compute => "compute",
            Kind::Communication => "communication",
            Kind::Copy => "copy",
            Kind::AiCpu => "ai_cpu",
            Kind::Random => "random",
        }
    }

    /// Whether it computes, as opposed to moving data.
    pub const fn computes(self) -> bool {
        !matches!(self, Kind::Communication | Kind::Copy)
    }

    /// The kind of an operator that ran on `core`.
    pub(crate) fn of(core: Core, op_type: &str, name: &str) -> Kind {
        match core {
            Core::AiCore => Kind::Cube,
            Core::AiVectorCore => Kind::Vector,
            Core::MixAic | Core::MixAiv => Kind::Mix,
            Core::Communication => Kind::Communication,
            Core::AiCpu | Core::Dpu => Kind::AiCpu,
            Core::Ccu => Kind::Communication,
            Core::Dsa => Kind::Random,
            Core::Copy => Kind::Copy,
            Core::Gpu | Core::Other | Core::Unknown => {
                if says(op_type, name, &COMMUNICATION) {
                    Kind::Communication
                } else if says(op_type, name, &COPIES) {
                    Kind::Copy
                } else {
                    Kind::Compute
                }
            }
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Parts of names of communication: HCCL, NCCL, RCCL, and the expert-parallel kernels of DeepEP.
const COMMUNICATION: [&str; 7] = ["hcom_", "hccl", "nccl", "rccl", "ep::internode", "ep::intranode", "deep_ep"];

/// Parts of names of copies by a DMA engine, on Ascend and CUDA.
const COPIES: [&str; 5] = ["sdma", "pcie_dma", "memcpy", "gpu_memset", "memset ("];

/// Tasks that order streams or mark positions; they do no work. By age: 2023, 2024 and later, and CUDA.
const CONTROL: [&str; 19] = [
    "event_wait",
    "event_record",
    "event_reset",
    "event_wait_sqe",
    "event_record_sqe",
    "david_event_wait",
    "david_event_record",
    "notify_wait",
    "notify_record",
    "notify_wait_sqe",
    "notify_record_sqe",
    "write_value",
    "place_holder_sqe",
    "profiling_enable",
    "profiling_disable",
    "event_sync",
    "stream_sync",
    "context_sync",
    "stream_wait_event",
];

/// Collectives inside names of AI_CPU kernels that drive them.
const COLLECTIVES: [&str; 9] =
    ["allreduce", "allgather", "reducescatter", "alltoall", "broadcast", "batchsendrecv", "send", "recv", "scatter"];

/// Whether a row orders streams instead of working, by its type or, where it has none, its name.
pub(crate) fn is_control(text: &str) -> bool {
    // Types of operators are short; what is longer than the longest of these is none of them.
    text.len() <= 20 && CONTROL.contains(&plain(text).as_str())
}

/// Whether an AI_CPU row drives a collective that other rows stand for: `allreduceAicpuKernel`.
pub(crate) fn is_shell(op_type: &str, name: &str) -> bool {
    [op_type, name].into_iter().any(|text| {
        let text: String = plain(text).replace('_', "");
        text.contains("aicpukernel") && COLLECTIVES.iter().any(|collective| text.contains(collective))
    })
}

fn plain(text: &str) -> String {
    text.to_ascii_lowercase().replace([' ', '-'], "_")
}

fn says(op_type: &str, name: &str, parts: &[&str]) -> bool {
    [op_type, name].into_iter().any(|text| {
        let text = text.to_ascii_lowercase();
        parts.iter().any(|part| text.contains(part))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_of_every_age_are_no_work() {
        for text in
            ["EVENT_WAIT", "EVENT_WAIT_SQE", "NOTIFY_WAIT", "Notify Wait", "DAVID_EVENT_WAIT", "Stream Wait Event"]
        {
            assert!(is_control(text), "{text}");
        }
        assert!(!is_control("MatMulV2"));
    }

    #[test]
    fn shells_drive_collectives_and_a_cast_on_the_ai_cpu_is_work() {
        assert!(is_shell("allreduceAicpuKernel", "allreduceAicpuKernel"));
        assert!(is_shell("N/A", "reduce_scatterAicpuKernel"));
        assert!(!is_shell("Cast", "Cast12"));
    }
}

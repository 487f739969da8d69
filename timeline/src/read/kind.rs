//! What a task of a device is, by the text in the column `Accelerator Core`, `Task Type` or `kernel_type`.

use crate::{Core, SyncKind, Via};

/// What a task is to an analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// An operator.
    Work(Core),
    /// It orders streams.
    Sync(SyncKind, Via),
    /// It only drives the device or its profiler.
    Control,
}

impl Task {
    /// Spellings differ by age: `EVENT_WAIT` (2023), `EVENT_WAIT_SQE` (2024), `DAVID_EVENT_WAIT`, `Notify Wait`.
    pub(crate) fn of(text: &[u8]) -> Task {
        if let Some(core) = frequent(text) {
            return Task::Work(core);
        }
        let mut name: String = String::from_utf8_lossy(text).trim().to_ascii_uppercase().replace([' ', '-'], "_");
        for suffix in ["_SQE", "_V2"] {
            if let Some(stem) = name.strip_suffix(suffix) {
                name.truncate(stem.len());
            }
        }
        let name = name.strip_prefix("DAVID_").unwrap_or(&name);
        match name {
            "EVENT_WAIT" | "STREAM_WAIT_EVENT" => Task::Sync(SyncKind::Wait, Via::Event),
            "EVENT_RECORD" => Task::Sync(SyncKind::Record, Via::Event),
            "NOTIFY_WAIT" => Task::Sync(SyncKind::Wait, Via::Notify),
            // A remote device is notified by a write into its memory.
            "NOTIFY_RECORD" | "WRITE_VALUE" => Task::Sync(SyncKind::Record, Via::Notify),
            "EVENT_RESET" | "PLACE_HOLDER" | "PROFILING_ENABLE" | "PROFILING_DISABLE" | "PROFILER_TRACE"
            | "MAINTENANCE" | "MODEL_EXECUTE" | "MODEL_MAINTAINCE" | "STREAM_SWITCH" | "STREAM_ACTIVE"
            | "LABEL_SET" | "LABEL_SWITCH" | "LABEL_GOTO" | "END_GRAPH" | "MODEL_EXIT" | "COND" | "NOP" | "FLIP"
            | "TASK_FLIP" => Task::Control,
            "SDMA" | "PCIE_DMA" | "MEMCPY_ASYNC" | "MEMCPY" | "MEMSET" | "ASYNC_DMA" | "UB_DB_SEND"
            | "REDUCE_ASYNC" | "UBDMA" => Task::Work(Core::Copy),
            "DSA" => Task::Work(Core::Dsa),
            "CCU" => Task::Work(Core::Ccu),
            "DPU" => Task::Work(Core::Dpu),
            "KERNEL" => Task::Work(Core::Gpu),
            "AICORE" | "KERNEL_AICORE" => Task::Work(Core::AiCore),
            "KERNEL_AIVEC" | "AIV" => Task::Work(Core::AiVectorCore),
            "AICPU" | "KERNEL_AICPU" => Task::Work(Core::AiCpu),
            "" | "NA" | "N/A" => Task::Work(Core::Unknown),
            _ => Task::Work(Core::Other),
        }
    }
}

/// The spellings of nearly all rows, without looking twice.
fn frequent(text: &[u8]) -> Option<Core> {
    Some(match text {
        b"AI_CORE" => Core::AiCore,
        b"AI_VECTOR_CORE" => Core::AiVectorCore,
        b"MIX_AIC" => Core::MixAic,
        b"MIX_AIV" => Core::MixAiv,
        b"COMMUNICATION" | b"HCCL" => Core::Communication,
        b"AI_CPU" => Core::AiCpu,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_age_spells_waits_its_own_way() {
        for text in ["EVENT_WAIT", "EVENT_WAIT_SQE", "DAVID_EVENT_WAIT", "Event Wait"] {
            assert_eq!(Task::of(text.as_bytes()), Task::Sync(SyncKind::Wait, Via::Event), "{text}");
        }
        for text in ["NOTIFY_WAIT", "Notify Wait", "NOTIFY_WAIT_SQE"] {
            assert_eq!(Task::of(text.as_bytes()), Task::Sync(SyncKind::Wait, Via::Notify), "{text}");
        }
        assert_eq!(Task::of(b"EVENT_RECORD_SQE"), Task::Sync(SyncKind::Record, Via::Event));
        assert_eq!(Task::of(b"PLACE_HOLDER_SQE"), Task::Control);
    }

    #[test]
    fn the_spelling_of_a_core_reads_back() {
        let cores = [
            Core::AiCore,
            Core::AiVectorCore,
            Core::MixAic,
            Core::MixAiv,
            Core::Communication,
            Core::AiCpu,
            Core::Dsa,
            Core::Ccu,
            Core::Dpu,
            Core::Copy,
            Core::Gpu,
            Core::Other,
            Core::Unknown,
        ];
        for core in cores {
            assert_eq!(Task::of(core.name().as_bytes()), Task::Work(core), "{core}");
        }
        assert_eq!(Task::of(b"HCCL"), Task::Work(Core::Communication));
        assert_eq!(Task::of(b"REDUCE_ASYNC_V2"), Task::Work(Core::Copy));
    }
}

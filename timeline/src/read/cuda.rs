//! The device side of PyTorch traces on CUDA and ROCm: kernels, copies, and waits for events of other streams.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::events::Event;
use super::number::{whole, whole_u32};
use super::operators::device_sync;
use super::trace::{Trace, Why, text};
use crate::capture::Row;
use crate::{Core, Sync, SyncKind, Via};

/// Starts of the names of kernels that communicate (NCCL, RCCL), and names of libraries whose kernels do.
const COMMUNICATION_STARTS: [&str; 4] = ["nccl", "rccl", "mscclKernel", "void nccl"];
const COMMUNICATION_PARTS: [&str; 4] = ["deep_ep::", "dpsk::ep::", "nvshmem", "rocshmem"];

/// Whether a category (with its quotes) is one of the device.
pub(crate) fn is_device(category: &str) -> bool {
    matches!(
        category.to_ascii_lowercase().as_str(),
        "\"kernel\""
            | "\"gpu_memcpy\""
            | "\"gpu_memset\""
            | "\"memcpy\""
            | "\"memset\""
            | "\"cuda_sync\""
            | "\"gpu_user_annotation\""
    )
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Args<'a> {
    #[serde(borrow)]
    device: Option<&'a RawValue>,
    #[serde(borrow)]
    stream: Option<&'a RawValue>,
    #[serde(borrow)]
    correlation: Option<&'a RawValue>,
    #[serde(borrow)]
    grid: Option<&'a RawValue>,
    #[serde(borrow)]
    wait_on_stream: Option<&'a RawValue>,
    #[serde(borrow)]
    wait_on_cuda_event_record_corr_id: Option<&'a RawValue>,
}

impl Args<'_> {
    /// The stream; `None` (as for -1) if the host waits, not a stream.
    fn stream(&self) -> Option<u32> {
        number(self.stream)
    }
}

/// Takes an event of the device.
pub(crate) fn event(trace: &mut Trace<'_>, number: u64, event: &Event<'_>, category: &str) -> Result<(), Why> {
    let args = match event.args {
        Some(args) => serde_json::from_str(args.get()).map_err(|error| format!("args: {error}"))?,
        None => Args::default(),
    };
    trace.gpu = true;
    match category.to_ascii_lowercase().as_str() {
        "\"cuda_sync\"" => sync(trace, event, &args),
        "\"gpu_user_annotation\"" => step(trace, event),
        "\"kernel\"" => {
            let name = event.name.map_or("".into(), text);
            let core = if communicates(&name) { Core::Communication } else { Core::Gpu };
            row(trace, number, event, &args, core)
        }
        _ => row(trace, number, event, &args, Core::Copy),
    }
}

fn row(trace: &mut Trace<'_>, line: u64, event: &Event<'_>, args: &Args<'_>, core: Core) -> Result<(), Why> {
    let (start_ns, duration_ns) = trace.times(event)?;
    let stream = args.stream().or_else(|| number(event.tid)).ok_or("neither a stream nor a tid")?;
    let name = trace.to.intern(&event.name.map_or("".into(), text));
    let row = Row {
        device: number(args.device).unwrap_or(0),
        stream: Some(stream),
        task: args.correlation.and_then(|value| whole(value.get().as_bytes()).ok()),
        blocks: args.grid.and_then(blocks),
        ..trace.bare_row(line, name, core, start_ns, duration_ns)
    };
    trace.to.row(row)
}

fn sync(trace: &mut Trace<'_>, event: &Event<'_>, args: &Args<'_>) -> Result<(), Why> {
    // The others (`Event Sync`, `Stream Sync`, `Context Sync`, ..) hold up the host, not a stream.
    let (Some("\"Stream Wait Event\""), Some(stream_id)) = (event.name.map(RawValue::get), args.stream()) else {
        trace.to.skip();
        return Ok(());
    };
    let (start_ns, duration_ns) = trace.times(event)?;
    let device = number(args.device).unwrap_or(0);
    trace.to.sync(Sync {
        event: number(args.wait_on_cuda_event_record_corr_id).map(u64::from),
        task: args.correlation.and_then(|value| whole(value.get().as_bytes()).ok()),
        of_stream: number(args.wait_on_stream),
        ..device_sync(SyncKind::Wait, Via::Event, device, stream_id, start_ns, duration_ns)
    });
    Ok(())
}

/// `ProfilerStep#7` as the device saw it.
fn step(trace: &mut Trace<'_>, event: &Event<'_>) -> Result<(), Why> {
    let name = event.name.map_or("".into(), text);
    if let Some(step) = name.strip_prefix("ProfilerStep#").and_then(|step| step.parse().ok()) {
        let (start_ns, duration_ns) = trace.times(event)?;
        trace.steps.push((start_ns, start_ns.saturating_add(duration_ns), step));
    }
    trace.to.skip();
    Ok(())
}

fn communicates(name: &str) -> bool {
    COMMUNICATION_STARTS.iter().any(|start| name.starts_with(start))
        || COMMUNICATION_PARTS.iter().any(|part| name.contains(part))
}

/// The blocks of a grid `[x, y, z]`.
fn blocks(grid: &RawValue) -> Option<u32> {
    let [x, y, z]: [u32; 3] = serde_json::from_str(grid.get()).ok()?;
    x.checked_mul(y)?.checked_mul(z).filter(|&blocks| blocks > 0)
}

fn number(value: Option<&RawValue>) -> Option<u32> {
    whole_u32(value?.get().as_bytes()).ok()
}

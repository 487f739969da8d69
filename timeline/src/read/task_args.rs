//! What a trace says about a task in `args`: CANN's keys, and those that this crate writes besides.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::builder::Builder;
use super::kind::Task;
use super::number::{scaled, whole, whole_u32};
use super::trace::text;
use crate::capture::{Row, Symbol};
use crate::{Origin, Site, Sync};

type Value<'a> = Option<&'a RawValue>;

/// `args` of a task of the device; values as they stand in the file.
#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
pub(crate) struct TaskArgs<'a> {
    #[serde(borrow, rename = "Task Type")]
    task_type: Value<'a>,
    #[serde(borrow, rename = "Stream Id")]
    pub(crate) stream_id: Value<'a>,
    #[serde(borrow, rename = "Task Id")]
    task_id: Value<'a>,
    #[serde(borrow, rename = "Step Id")]
    step_id: Value<'a>,
    #[serde(borrow, rename = "Type")]
    op_type: Value<'a>,
    #[serde(borrow, rename = "Block Num")]
    blocks: Value<'a>,
    #[serde(borrow, rename = "Mix Block Num")]
    mix_blocks: Value<'a>,
    #[serde(borrow, rename = "Input Shapes")]
    input_shapes: Value<'a>,
    #[serde(borrow, rename = "Input Data Types")]
    input_types: Value<'a>,
    #[serde(borrow, rename = "Output Shapes")]
    output_shapes: Value<'a>,
    #[serde(borrow, rename = "Output Data Types")]
    output_types: Value<'a>,
    #[serde(borrow, rename = "aicore_time(us)")]
    aicore_time: Value<'a>,
    #[serde(borrow, rename = "aiv_time(us)")]
    aiv_time: Value<'a>,
    #[serde(borrow, rename = "Event Id")]
    event: Value<'a>,
    #[serde(borrow, rename = "Recorded on Stream Id")]
    of_stream: Value<'a>,
    #[serde(borrow, rename = "Origin")]
    origin: Value<'a>,
    #[serde(borrow, rename = "Function")]
    function: Value<'a>,
    #[serde(borrow, rename = "File")]
    file: Value<'a>,
    #[serde(borrow, rename = "Line")]
    line: Value<'a>,
    #[serde(borrow, rename = "Variables")]
    variables: Value<'a>,
    #[serde(borrow, rename = "Index")]
    index: Value<'a>,
}

impl TaskArgs<'_> {
    pub(crate) fn kind(&self) -> Task {
        Task::of(self.task_type.map(text).unwrap_or_default().as_bytes())
    }

    pub(crate) fn task(&self) -> Option<u64> {
        whole(self.task_id?.get().as_bytes()).ok()
    }

    /// Adds what only traces of this crate say about an operator.
    pub(crate) fn complete_row(&self, row: &mut Row, to: &mut Builder) {
        let mut symbol = |value: Value<'_>| -> Symbol { value.map_or(to.nothing(), |value| to.intern(&text(value))) };
        row.op_type = symbol(self.op_type);
        row.input_shapes = symbol(self.input_shapes);
        row.input_types = symbol(self.input_types);
        row.output_shapes = symbol(self.output_shapes);
        row.output_types = symbol(self.output_types);
        row.step = number(self.step_id);
        row.blocks = number(self.blocks).filter(|&blocks| blocks > 0);
        row.mix_blocks = number(self.mix_blocks).filter(|&blocks| blocks > 0);
        row.aicore_ns = time(self.aicore_time);
        row.aiv_ns = time(self.aiv_time);
    }

    /// Adds what only traces of this crate say about a wait or a record.
    pub(crate) fn complete(&self, sync: &mut Sync) {
        sync.event = self.event.and_then(|value| whole(value.get().as_bytes()).ok());
        sync.of_stream = number(self.of_stream);
        sync.origin = match self.origin.map(RawValue::get) {
            Some("\"plan\"") => Origin::Plan,
            Some("\"hand\"") => Origin::Hand,
            Some("\"hazard\"") => Origin::Hazard,
            Some("\"function\"") => Origin::Function,
            Some("\"memory\"") => Origin::Memory,
            _ => Origin::Device,
        };
        let owned = |value: Value<'_>| value.map(|value| text(value).into_owned()).unwrap_or_default().into();
        if self.file.is_some() {
            sync.site = Some(Site {
                function: owned(self.function),
                file: owned(self.file),
                line: number(self.line).unwrap_or(0),
                variables: owned(self.variables),
                index: number(self.index).unwrap_or(0),
            });
        }
    }
}

fn number(value: Value<'_>) -> Option<u32> {
    whole_u32(value?.get().as_bytes()).ok()
}

fn time(value: Value<'_>) -> Option<u64> {
    scaled(value?.get().as_bytes(), 3).ok()
}

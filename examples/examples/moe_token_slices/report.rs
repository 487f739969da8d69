//! The figures of a run, as text and as JSON.

use std::fmt;

use multicore::Cores;
use multicore::prelude::*;
use multicore::timeline::{Core, Record};
use serde_json::{Value, json};

use crate::analysis::{communication_hidden, core_share, hidden_share};
use crate::layer::Shape;
use crate::routing::distance;

/// Medians, in ms.
pub(crate) struct Times {
    serial: f64,
    multi_stream: f64,
}

impl Times {
    /// The medians of passes on either device.
    pub(crate) fn new(serial: Vec<f64>, multi_stream: Vec<f64>) -> Times {
        let median = |mut times: Vec<f64>| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        };
        Times { serial: median(serial), multi_stream: median(multi_stream) }
    }

    fn speedup(&self) -> f64 {
        self.serial / self.multi_stream
    }
}

/// How the gate spread the tokens.
pub(crate) struct Routing {
    /// The hottest expert's tokens over the mean.
    hottest: f64,
    /// The part of the tokens that went to another expert than asked for, the worst layer.
    error: f64,
}

impl Routing {
    /// What was reached in each layer, beside what was asked for.
    pub(crate) fn new(target: &[f64], layers: &[Vec<f64>]) -> Routing {
        let most = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
        let experts = target.len() as f64;
        Routing {
            hottest: most(&mut layers.iter().flatten().map(|share| share * experts)),
            error: most(&mut layers.iter().map(|shares| distance(shares, target))),
        }
    }
}

/// What the trace of a pass says.
pub(crate) struct Overlap {
    /// Cube core time used over what there was; see [`core_share`].
    cube_busy: f64,
    /// The same for vector cores; rows that the copy engines move do not count.
    vector_busy: f64,
    /// The part of the dispatch stream's busy time in which the compute stream was busy too.
    dispatch_hidden: f64,
    /// The part of the communication's busy time in which cube cores were busy.
    comm_hidden: f64,
}

impl Overlap {
    /// Reads a trace of `device`.
    ///
    /// # Errors
    /// When the device has no streams left.
    pub(crate) fn new(device: &Device, trace: &[Record]) -> Result<Overlap> {
        let Cores { cube, vector } = device.chip();
        let id = |name| device.named_stream(name).map(|stream| stream.id());
        Ok(Overlap {
            cube_busy: core_share(trace, &[Core::AiCore, Core::MixAic], cube),
            vector_busy: core_share(trace, &[Core::AiVectorCore, Core::MixAiv], vector),
            dispatch_hidden: hidden_share(trace, id("dispatch")?, id("compute")?),
            comm_hidden: communication_hidden(trace),
        })
    }
}

/// Everything worth knowing of a run.
pub(crate) struct Figures {
    /// Its specification.
    pub(crate) device: String,
    /// Its cores.
    pub(crate) chip: Cores,
    /// Tokens of a pass.
    pub(crate) tokens: usize,
    /// Slices that they were cut into.
    pub(crate) slices: usize,
    /// Layers.
    pub(crate) layers: usize,
    /// Sizes of a layer.
    pub(crate) shape: Shape,
    /// How long a pass took.
    pub(crate) times: Times,
    /// Operators of a pass.
    pub(crate) launches: u64,
    /// Events recorded in a pass.
    pub(crate) records: u64,
    /// Waits made in a pass.
    pub(crate) waits: u64,
    /// Conflicts that nobody had ordered, in all passes.
    pub(crate) hazards: u64,
    /// The gate's choice.
    pub(crate) routing: Routing,
    /// The trace.
    pub(crate) overlap: Overlap,
    /// What the schedule is held against, in ms; see `lower_bound_ns`.
    pub(crate) lower_bound_ms: f64,
    /// Both results have the same bits; `None` where nothing is computed.
    pub(crate) equal_to_serial: Option<bool>,
}

impl Figures {
    /// 10^9 floating point operations in the matrix products of a pass.
    fn gflop(&self) -> f64 {
        let Shape { hidden, inter, gate, .. } = self.shape;
        let expert = 6 * hidden * inter;
        (self.layers * self.tokens * ((gate.top_k + 1) * expert + 2 * hidden * gate.experts)) as f64 * 1e-9
    }

    /// The lower bound over the time that it took.
    fn eta(&self) -> f64 {
        self.lower_bound_ms / self.times.multi_stream
    }

    /// One object.
    pub(crate) fn json(&self) -> Value {
        let Shape { hidden, inter, gate, .. } = self.shape;
        json!({
            "device": self.device,
            "cube_cores": self.chip.cube,
            "vector_cores": self.chip.vector,
            "tokens": self.tokens,
            "slices": self.slices,
            "layers": self.layers,
            "hidden": hidden,
            "inter": inter,
            "experts": gate.experts,
            "top_k": gate.top_k,
            "groups": gate.groups,
            "topk_groups": gate.topk_groups,
            "serial_ms": self.times.serial,
            "multi_stream_ms": self.times.multi_stream,
            "speedup": self.times.speedup(),
            "gflop": self.gflop(),
            "launches": self.launches,
            "records": self.records,
            "waits": self.waits,
            "hazards": self.hazards,
            "cube_busy": self.overlap.cube_busy,
            "vector_busy": self.overlap.vector_busy,
            "dispatch_hidden": self.overlap.dispatch_hidden,
            "comm_hidden": self.overlap.comm_hidden,
            "lower_bound_ms": self.lower_bound_ms,
            "eta": self.eta(),
            "hottest_expert": self.routing.hottest,
            "routing_error": self.routing.error,
            "equal_to_serial": self.equal_to_serial,
        })
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Figures { device, chip, tokens, slices, layers, shape, times, .. } = self;
        let (gate, percent) = (shape.gate, |share: f64| format!("{:.0} %", share * 100.0));
        let rate = |ms: f64| self.gflop() / ms * 1e3;
        writeln!(f, "device        {device}: {} cube and {} vector cores", chip.cube, chip.vector)?;
        writeln!(
            f,
            "layers        {layers} of {} experts ({} x {}), top {}; {tokens} tokens in {slices} slices",
            gate.experts, shape.hidden, shape.inter, gate.top_k
        )?;
        writeln!(
            f,
            "routing       hottest expert {:.1} x the mean; {:.1} % of the tokens off the histogram",
            self.routing.hottest,
            self.routing.error * 100.0
        )?;
        writeln!(f, "serial        {:8.2} ms  {:6.1} GFLOP/s", times.serial, rate(times.serial))?;
        writeln!(
            f,
            "multi-stream  {:8.2} ms  {:6.1} GFLOP/s  speed-up {:.2}",
            times.multi_stream,
            rate(times.multi_stream),
            times.speedup()
        )?;
        writeln!(
            f,
            "a pass        {} launches, {} records, {} waits; {} hazards in all",
            self.launches, self.records, self.waits, self.hazards
        )?;
        let Overlap { cube_busy, vector_busy, dispatch_hidden, comm_hidden } = self.overlap;
        writeln!(f, "lower bound   {:8.2} ms  eta {:.2}", self.lower_bound_ms, self.eta())?;
        writeln!(f, "cores         cube {} busy, vector {} busy", percent(cube_busy), percent(vector_busy))?;
        writeln!(
            f,
            "dispatch      {} hidden behind compute; communication {} behind cube cores",
            percent(dispatch_hidden),
            percent(comm_hidden)
        )?;
        let verdict = match self.equal_to_serial {
            Some(true) => "equal bit for bit",
            Some(false) => "NOT EQUAL",
            None => "not computed",
        };
        writeln!(f, "results       {verdict}")
    }
}

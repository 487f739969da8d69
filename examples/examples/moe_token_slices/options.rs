//! The command line.

use std::path::PathBuf;

use clap::Parser;

/// A DeepSeek-V3-shaped MoE layer whose tokens are cut into slices, pipelined over three streams.
///
/// Gate, dispatch (permute), grouped matmuls and swiglu of the experts, the shared expert beside them, combine. The same
/// function runs one block after another on a serial device and overlapped on a multi-stream one; both results must be
/// equal to the last bit.
#[derive(Parser, Debug)]
pub(crate) struct Options {
    /// Tokens of one forward pass
    #[arg(long, default_value_t = 4096)]
    pub(crate) tokens: usize,
    /// Size of a token's vector
    #[arg(long, default_value_t = 256)]
    pub(crate) hidden: usize,
    /// Size of the vector inside an expert
    #[arg(long, default_value_t = 128)]
    pub(crate) inter: usize,
    /// Routed experts [default: 64, or the columns of --counts]
    #[arg(long)]
    pub(crate) experts: Option<usize>,
    /// Experts that each token is sent to
    #[arg(long, default_value_t = 8)]
    pub(crate) top_k: usize,
    /// Slices that the tokens are cut into
    #[arg(long, default_value_t = 4)]
    pub(crate) slices: usize,
    /// Layers, one after another
    #[arg(long, default_value_t = 2)]
    pub(crate) layers: usize,
    /// The device, such as `host`, `host:20x40`, `sim:910b` or `sim:910b,dry` [default: MULTICORE_DEVICE, or `host`]
    #[arg(long)]
    pub(crate) device: Option<String>,
    /// Devices that share the experts: this one has its part of them. Only on a dry device
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) ranks: usize,
    /// Compare schedules: serial, streams without limits, streams with their share of the cores, each with 1, 2, 4 and 8
    /// slices, balanced and skewed. Only on a dry device
    #[arg(long)]
    pub(crate) schedules: bool,
    /// A router histogram to follow: a CSV with one row a layer, `layer,e0,e1,..`. Without it, the expert of rank r
    /// (1, 2, ..) gets a share proportional to 1/sqrt(r)
    #[arg(long, value_name = "FILE")]
    pub(crate) counts: Option<PathBuf>,
    /// The row of --counts to follow [default: its first]
    #[arg(long, value_name = "N", requires = "counts")]
    pub(crate) layer: Option<u32>,
    /// Timed passes on each device; the medians are printed
    #[arg(long, default_value_t = 5, value_name = "N")]
    pub(crate) repeat: usize,
    /// Write the profile of one multi-stream pass to DIR: kernel_details.csv, trace_view.json
    #[arg(long, value_name = "DIR")]
    pub(crate) trace: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

impl Options {
    /// Refuses sizes that no layer can have.
    ///
    /// # Errors
    /// A message that says which option, and what it can be.
    pub(crate) fn check(&self, experts: usize) -> Result<(), String> {
        let positive = [
            ("--tokens", self.tokens),
            ("--hidden", self.hidden),
            ("--inter", self.inter),
            ("--experts", experts),
            ("--layers", self.layers),
            ("--repeat", self.repeat),
        ];
        if let Some((name, _)) = positive.iter().find(|(_, value)| *value == 0) {
            return Err(format!("{name} is 0: write 1 or more"));
        }
        if !(1..=self.tokens).contains(&self.slices) {
            return Err(format!("--slices is {}: write 1 to {}, one token a slice at least", self.slices, self.tokens));
        }
        if !(1..=experts).contains(&self.top_k) {
            return Err(format!("--top-k is {}: write 1 to {experts}, the number of experts", self.top_k));
        }
        if self.ranks == 0 || !experts.is_multiple_of(self.ranks) {
            return Err(format!("--ranks is {}: write a number that divides the {experts} experts", self.ranks));
        }
        Ok(())
    }

    /// Refuses what only a dry device can do.
    ///
    /// # Errors
    /// A message that says which option.
    pub(crate) fn check_device(&self, is_dry: bool) -> Result<(), String> {
        let dry_only = [("--ranks", self.ranks > 1), ("--schedules", self.schedules)];
        match dry_only.iter().find(|(_, asked)| *asked && !is_dry) {
            Some((name, _)) => Err(format!("{name} needs a device that computes nothing: write --device sim:910b,dry")),
            None => Ok(()),
        }
    }
}

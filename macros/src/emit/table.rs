//! The plan as it is shown: with streams, lines and names instead of numbers of the model.
//!
//! In: what was seen, the plan, and the numbers that the writer gave. Out: plain data, and the tokens of the `Plan` that
//! the function carries, in which every block, record and wait is a line.

use proc_macro2::{Literal, Span, TokenStream};
use quote::quote;
use syn::ItemFn;

use super::text;
use super::writer::Writer;
use crate::access::{Seen, Site};
use crate::plan::Plan;

/// The plan of a function.
#[derive(Debug, Default)]
pub(crate) struct Table {
    function: String,
    line: usize,
    pub(super) serial: bool,
    pub(super) blocks: Vec<Block>,
    pub(super) records: Vec<Record>,
    pub(super) waits: Vec<Wait>,
}

/// A `stream!` block.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) stream: String,
    pub(super) line: usize,
    /// As in `cores(..)`; empty without a limit.
    pub(super) cores: String,
    outer: Option<usize>,
}

/// An event.
#[derive(Debug)]
pub(super) struct Record {
    block: Option<usize>,
    pub(super) stream: String,
    pub(super) line: usize,
    variables: Vec<String>,
}

/// A wait.
#[derive(Debug)]
pub(super) struct Wait {
    block: Option<usize>,
    pub(super) stream: String,
    pub(super) line: usize,
    pub(super) variable: String,
    /// Indices of records.
    pub(super) records: Vec<u32>,
}

impl Table {
    pub(crate) fn new(item: &ItemFn, serial: bool, seen: &Seen, plan: &Plan, writer: &Writer<'_>) -> Table {
        let name = &item.sig.ident;
        let stream = |site: &Site| seen.model.streams[site.stream.index()].text.clone();
        let variable = |var| seen.scopes.facts(var).name.clone();
        let blocks = seen.blocks.iter().flatten().zip(&seen.nesting).map(|(block, nested)| {
            let limit = |kind, cores: &Option<_>| cores.as_ref().map(|cores| format!("{kind} = {}", text::of(cores)));
            let limits = [limit("cube", &block.cube), limit("vector", &block.vector)];
            let cores = limits.into_iter().flatten().collect::<Vec<_>>().join(", ");
            Block { stream: text::of(&block.stream), line: line_of(block.span), cores, outer: nested.outer }
        });
        let records = plan.records.iter().map(|(point, variables)| {
            let site = &seen.points[point.index()];
            let variables = variables.keys().map(|&var| variable(var)).collect();
            Record { block: site.block, stream: stream(site), line: line_of(site.span), variables }
        });
        let waits = plan.waits.iter().flat_map(|(node, waits)| waits.iter().map(move |wait| (node, wait)));
        let waits = waits.map(|(node, wait)| {
            let site = &seen.nodes[node.index()];
            let records = wait.points.iter().map(|point| writer.records[point]).collect();
            let (line, variable) = (line_of(site.span), variable(wait.var));
            Wait { block: site.block, stream: stream(site), line, variable, records }
        });
        Table {
            function: name.to_string(),
            line: line_of(name.span()),
            serial,
            blocks: blocks.collect(),
            records: records.collect(),
            waits: waits.collect(),
        }
    }

    /// The value of the plan.
    pub(crate) fn tokens(&self) -> TokenStream {
        let Table { function, serial, .. } = self;
        let line = number(self.line);
        let inside = |block: Option<usize>| block.map(number).map(|block| quote!(.inside(#block)));
        let blocks = self.blocks.iter().map(|Block { stream, line, cores, outer }| {
            let (line, outer) = (number(*line), inside(*outer));
            let cores = (!cores.is_empty()).then(|| quote!(.cores(#cores)));
            quote!(__multicore::PlanBlock::new(#stream, #line) #cores #outer)
        });
        let records = self.records.iter().map(|Record { block, stream, line, variables }| {
            let (line, block) = (number(*line), inside(*block));
            quote!(__multicore::PlanRecord::new(#stream, #line, &[#(#variables),*]) #block)
        });
        let waits = self.waits.iter().map(|Wait { block, stream, line, variable, records }| {
            let (line, block) = (number(*line), inside(*block));
            let records = records.iter().map(|&record| number(record as usize));
            quote!(__multicore::PlanWait::new(#stream, #line, #variable, &[#(#records),*]) #block)
        });
        quote!(__multicore::Plan {
            function: #function,
            file: ::core::file!(),
            line: #line,
            serial: #serial,
            blocks: &[#(#blocks),*],
            records: &[#(#records),*],
            waits: &[#(#waits),*],
        })
    }
}

fn line_of(span: Span) -> usize {
    span.start().line
}

fn number(number: usize) -> Literal {
    Literal::usize_unsuffixed(number)
}

//! The plan as it is shown: with streams, lines and names instead of numbers of the model.
//!
//! In: what was seen, the plan, and the numbers that the writer gave. Out: plain data, and the tokens of the `Plan` that
//! the function carries, in which every block, record and wait is a line.

use proc_macro2::{Span, TokenStream};
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
            let limit = |kind, cores: &Option<syn::Expr>| {
                cores.as_ref().map(|cores| format!("{kind} = {}", text::of_expr(cores)))
            };
            let limits = [limit("cube", &block.cube), limit("vector", &block.vector)];
            let cores = limits.into_iter().flatten().collect::<Vec<_>>().join(", ");
            Block { stream: text::of_expr(&block.stream), line: line_of(block.span), cores, outer: nested.outer }
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

    /// The value of the plan. It is read from text, all at once by the compiler: made token by token, the plan took a
    /// tenth of the expansion.
    pub(crate) fn tokens(&self) -> TokenStream {
        let Table { function, line, serial, blocks, records, waits } = self;
        let inside = |block: &Option<usize>| block.map(|block| format!(".inside({block})")).unwrap_or_default();
        let blocks = blocks.iter().map(|Block { stream, line, cores, outer }| {
            let cores = if cores.is_empty() { String::new() } else { format!(".cores({cores:?})") };
            format!("__multicore::PlanBlock::new({stream:?}, {line}){cores}{}", inside(outer))
        });
        let records = records.iter().map(|Record { block, stream, line, variables }| {
            format!("__multicore::PlanRecord::new({stream:?}, {line}, &{variables:?}){}", inside(block))
        });
        let waits = waits.iter().map(|Wait { block, stream, line, variable, records }| {
            format!("__multicore::PlanWait::new({stream:?}, {line}, {variable:?}, &{records:?}){}", inside(block))
        });
        let (blocks, records, waits) = (list(blocks), list(records), list(waits));
        let text = format!(
            "__multicore::Plan {{ function: {function:?}, file: ::core::file!(), line: {line}, serial: {serial}, \
             blocks: {blocks}, records: {records}, waits: {waits}, }}"
        );
        read(&text).unwrap_or_else(|| unreachable!("strings and numbers are printed as they are written: {text}"))
    }
}

/// Tokens of a text. Where there is a compiler, it reads them: `proc_macro2` would first read them itself, in a build
/// that is not optimised.
fn read(text: &str) -> Option<TokenStream> {
    if proc_macro::is_available() {
        text.parse::<proc_macro::TokenStream>().ok().map(TokenStream::from)
    } else {
        text.parse().ok()
    }
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("&[{}]", items.collect::<Vec<_>>().join(", "))
}

fn line_of(span: Span) -> usize {
    span.start().line
}

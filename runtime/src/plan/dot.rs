//! A plan as a graph for Graphviz.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::Plan;

/// A node: a block, or a line outside of all blocks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Node {
    Block(u32),
    Line(u32),
}

impl Node {
    fn of(block: Option<u32>, line: u32) -> Node {
        block.map_or(Node::Line(line), Node::Block)
    }

    fn id(self) -> String {
        match self {
            Node::Block(block) => format!("block_{block}"),
            Node::Line(line) => format!("line_{line}"),
        }
    }
}

impl Plan {
    /// A graph in the DOT language: a cluster for each stream with its blocks in source order, and an edge from each
    /// record to each wait for it, with the variable and both lines. `dot -Tsvg` draws it.
    pub fn to_dot(&self) -> String {
        let mut text = format!("digraph {} {{\n    node [shape=box];\n", quoted(self.function));
        for (i, stream) in self.streams().into_iter().enumerate() {
            let _ = writeln!(text, "    subgraph cluster_{i} {{\n        label={};", quoted(stream));
            let nodes = self.nodes(stream);
            for (_, node) in &nodes {
                let _ = writeln!(text, "        {} [label={}];", node.id(), quoted(&self.label(*node)));
            }
            for pair in nodes.windows(2) {
                let _ =
                    writeln!(text, "        {} -> {} [style=dotted, arrowhead=none];", pair[0].1.id(), pair[1].1.id());
            }
            text.push_str("    }\n");
        }
        for wait in self.waits {
            for record in self.records_of(wait) {
                let (from, to) = (Node::of(record.block, record.line).id(), Node::of(wait.block, wait.line).id());
                let label = quoted(&format!("{} (line {} → {})", wait.variable, record.line, wait.line));
                let _ = writeln!(text, "    {from} -> {to} [label={label}];");
            }
        }
        text.push_str("}\n");
        text
    }

    /// What stands on a stream, by line.
    fn nodes(&self, stream: &str) -> Vec<(u32, Node)> {
        let blocks = self.blocks.iter().zip(0..).map(|(block, i)| (block.stream, block.line, Node::Block(i)));
        let records = self.records.iter().map(|site| (site.block, site.stream, site.line));
        let waits = self.waits.iter().map(|site| (site.block, site.stream, site.line));
        let outside = records.chain(waits).filter(|(block, ..)| block.is_none());
        let outside = outside.map(|(_, stream, line)| (stream, line, Node::Line(line)));
        let nodes: BTreeSet<(u32, Node)> =
            blocks.chain(outside).filter(|(on, ..)| *on == stream).map(|(_, line, node)| (line, node)).collect();
        nodes.into_iter().collect()
    }

    fn label(&self, node: Node) -> String {
        let block = match node {
            Node::Line(line) => return format!("line {line}"),
            Node::Block(block) => self.blocks[block as usize],
        };
        let cores = if block.cores.is_empty() { String::new() } else { format!("\n{}", block.cores) };
        format!("line {}{cores}", block.line)
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

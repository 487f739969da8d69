//! A stream whose every launch is ordered against every launch of all others: it could as well be one of them.

use syn::spanned::Spanned;

use super::Warning;
use crate::access::{Seen, Site};
use crate::model::{MAIN, StreamId};
use crate::overlap::Overlaps;
use crate::plan::Plan;

/// How many waits a text names.
const NAMED: usize = 3;

/// Streams of a function with several. If none of them overlaps another, the first is taken to be the one that the rest could
/// run on.
pub(super) fn without_overlap(seen: &Seen, plan: &Plan, overlaps: &Overlaps, found: &mut Vec<Warning>) {
    let mut used: Vec<(StreamId, usize)> = Vec::new();
    for (block, nested) in seen.nesting.iter().enumerate() {
        if nested.stream != MAIN && overlaps.launches(nested.stream) && !used.iter().any(|(s, _)| *s == nested.stream) {
            used.push((nested.stream, block));
        }
    }
    if used.len() < 2 {
        return;
    }
    let lonely = |stream: StreamId| !seen.model.streams[stream.index()].unknown && !overlaps.any(stream);
    let first = usize::from(used.iter().all(|(stream, _)| lonely(*stream)));
    for &(stream, block) in used[first..].iter().filter(|(stream, _)| lonely(*stream)) {
        let Some(header) = &seen.blocks[block] else { continue };
        let span = header.stream.span();
        found.push(Warning { name: "stream_never_overlaps", text: text(seen, plan, stream), span, block: Some(block) });
    }
}

/// Why nothing on the stream overlaps anything.
fn text(seen: &Seen, plan: &Plan, stream: StreamId) -> String {
    let Orders { before, after } = orders(seen, plan, stream);
    let name = |stream: StreamId| &seen.model.streams[stream.index()].text;
    let only = before.first().filter(|first| before.iter().all(|order| order.other.stream == first.other.stream));
    let mut help = "put its blocks on one of the others, or work beside them that waits for none of them".to_owned();
    let mut reasons: Vec<String> = Vec::new();
    let fact = match only {
        Some(only) if after.is_empty() => {
            reasons.extend(before.iter().map(|order| {
                format!("line {} for {} of line {}", line(&order.own), order.variable, line(&order.other))
            }));
            help = format!(
                "put its blocks on `{}`, or work beside them that does not wait for it",
                name(only.other.stream)
            );
            format!("every block on `{}` waits for `{}`", name(stream), name(only.other.stream))
        }
        _ => {
            let (own, other) = (name(stream), |site: &Site| name(site.stream));
            reasons.extend(before.iter().map(|order| {
                let Order { own: waits, other: made, variable } = order;
                format!(
                    "line {} (`{own}`) waits for {variable} of line {} (`{}`)",
                    line(waits),
                    line(made),
                    other(made)
                )
            }));
            reasons.extend(after.iter().map(|order| {
                let Order { own: made, other: waits, variable } = order;
                format!(
                    "line {} (`{}`) waits for {variable} of line {} (`{own}`)",
                    line(waits),
                    other(waits),
                    line(made)
                )
            }));
            format!("stream `{own}` never overlaps another one in this function")
        }
    };
    let more = reasons.len().saturating_sub(NAMED);
    reasons.truncate(NAMED);
    if more > 0 {
        reasons.push(format!("and {more} more"));
    }
    format!("{fact}: {}\nhelp: {help}", reasons.join(", "))
}

/// A wait between the stream and another.
struct Order {
    own: Site,
    other: Site,
    variable: String,
}

#[derive(Default)]
struct Orders {
    /// The stream waits.
    before: Vec<Order>,
    /// The other waits.
    after: Vec<Order>,
}

fn orders(seen: &Seen, plan: &Plan, stream: StreamId) -> Orders {
    let mut orders = Orders::default();
    for (node, waits) in &plan.waits {
        let waiting = seen.nodes[node.index()];
        for wait in waits {
            let name = &seen.scopes.facts(wait.var).name;
            // So the value of a block is called that is used where it stands.
            let variable = if name == "block" { "the value".to_owned() } else { format!("`{name}`") };
            for point in &wait.points {
                let made = seen.points[point.index()];
                match (waiting.stream == stream, made.stream == stream) {
                    (true, false) => {
                        orders.before.push(Order { own: waiting, other: made, variable: variable.clone() })
                    }
                    (false, true) => orders.after.push(Order { own: made, other: waiting, variable: variable.clone() }),
                    _ => {}
                }
            }
        }
    }
    orders
}

fn line(site: &Site) -> usize {
    site.span.start().line
}

use proc_macro2::TokenStream;

use super::*;
use crate::analyse::analyse;
use crate::plan::{Plan, Update, WaitKind};
use crate::testing::tokens;

/// The plan of a function as text: each wait with its stream, line and variable, and the records it may come after.
fn plan_of(source: &str) -> String {
    let (seen, plan) = planned(source);
    let line = |site: &Site| site.span.start().line;
    let stream = |site: &Site| seen.model.streams[site.stream.index()].text.clone();
    let mut text = String::new();
    for (node, waits) in &plan.waits {
        let site = &seen.nodes[node.index()];
        for wait in waits {
            let kind = match (wait.kind, wait.mutable) {
                (WaitKind::Expect, false) => "expects",
                (WaitKind::Expect, true) => "expects mut",
                (WaitKind::Wait, false) => "waits for",
                (WaitKind::Wait, true) => "waits for mut",
            };
            let from: Vec<String> = wait
                .points
                .iter()
                .map(|point| {
                    let site = &seen.points[point.index()];
                    format!("{}:{}", line(site), stream(site))
                })
                .collect();
            let variable = &seen.scopes.facts(wait.var).name;
            text += &format!("{}:{} {kind} {variable} of {}\n", line(site), stream(site), from.join(", "));
        }
    }
    text
}

fn planned(source: &str) -> (Seen, Plan) {
    let tokens: TokenStream = tokens(source);
    let function = crate::parse::parse(TokenStream::new(), tokens).map_err(|e| e.messages()).expect("the source is right");
    let mut item = function.item;
    let mut diagnostics = Diagnostics::default();
    let seen = see(&function.args.streams, &mut item, &mut diagnostics);
    assert!(diagnostics.is_empty());
    let plan = analyse(&seen.model);
    (seen, plan)
}

#[test]
fn scratch() {
    if let Ok(path) = std::env::var("MC_SRC") {
        println!("{}", plan_of(&std::fs::read_to_string(path).unwrap()));
    }
}

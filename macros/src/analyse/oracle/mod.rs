//! The analysis against the truth: on random straight-line programs the waits of the plan are the cross-stream edges of
//! the transitive reduction, found by brute force, its records their distinct sources, and each event gets to where it is
//! waited for.
//!
//! `MULTICORE_ORACLE_PROGRAMS` sets how many programs are tried (20,000), `MULTICORE_SEED` where they begin (1). A program
//! that fails is printed as it was made smaller, with its seed:
//!
//! ```text
//! MULTICORE_ORACLE_PROGRAMS=1000000 MULTICORE_SEED=7 cargo test -p multicore-macros oracle
//! ```

mod execution;
mod program;
mod reduction;

use std::collections::BTreeSet;

use program::Program;
use reduction::{Edge, Fault, Graph};

use super::analyse;
use crate::model::PointId;
use crate::plan::Plan;

fn setting(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} takes a number, not `{text}`")),
        Err(_) => default,
    }
}

/// The waits of a plan, each of one node for one point; an error if one is there twice.
fn waits_of(plan: &Plan) -> Result<BTreeSet<Edge>, String> {
    let mut waits = BTreeSet::new();
    for (&node, of_node) in &plan.waits {
        for &point in of_node.iter().flat_map(|wait| &wait.points) {
            if !waits.insert((point, node)) {
                return Err(format!("node {} waits twice for point {}", node.0, point.0));
            }
        }
    }
    Ok(waits)
}

fn compared(what: &str, got: &BTreeSet<Edge>, truth: &BTreeSet<Edge>) -> Result<(), String> {
    let list = |edges: BTreeSet<&Edge>| {
        let each = edges.into_iter().map(|(point, node)| format!("node {} for point {}", node.0, point.0));
        each.collect::<Vec<_>>().join(", ")
    };
    let (missing, extra) =
        (truth.difference(got).collect::<BTreeSet<_>>(), got.difference(truth).collect::<BTreeSet<_>>());
    if missing.is_empty() && extra.is_empty() {
        return Ok(());
    }
    Err(format!("{what}: missing [{}], too many [{}]", list(missing), list(extra)))
}

fn check(program: &Program) -> Result<(), String> {
    let model = program.model();
    let plan = analyse(&model);
    let graph = Graph::of(&model);
    let waits = graph.waits();
    compared("waits planned", &waits_of(&plan)?, &waits)?;
    let sources: BTreeSet<PointId> = waits.iter().map(|(point, _)| *point).collect();
    let records: BTreeSet<PointId> = plan.records.keys().copied().collect();
    if records != sources {
        return Err(format!("records at {records:?}, sources of waits are {sources:?}"));
    }
    match execution::lost_event(&model, &plan) {
        Some((point, node)) => Err(format!("the event of point {} does not get to node {}", point.0, node.0)),
        None => Ok(()),
    }
}

/// The seed of a program: a run that begins at the seed of another tries others.
fn seed_of(first: u64, number: u64) -> u64 {
    first.wrapping_mul(1 << 32).wrapping_add(number)
}

#[test]
fn the_plan_of_straight_code_is_the_transitive_reduction() {
    let (programs, first) = (setting("MULTICORE_ORACLE_PROGRAMS", 20_000), setting("MULTICORE_SEED", 1));
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                for number in (thread..programs).step_by(threads as usize) {
                    let program = Program::random(seed_of(first, number));
                    if let Err(error) = check(&program) {
                        let smallest = program.shrunk(|smaller| check(smaller).is_err());
                        let error = check(&smallest).err().unwrap_or(error);
                        panic!("MULTICORE_SEED={first}, program {number}: {error}\n{smallest}");
                    }
                }
            });
        }
    });
}

#[test]
fn the_oracle_is_exact_and_minimal_by_definition_and_tells_other_plans() {
    let (mut dropped, mut added) = (0, 0);
    for number in 0..300 {
        let program = Program::random(seed_of(0, number));
        let graph = Graph::of(&program.model());
        let (waits, candidates) = (graph.waits(), graph.candidates());
        if candidates.len() > 200 {
            continue;
        }
        assert_eq!(graph.judge(&waits), Ok(()), "program {number}:\n{program}");
        for wait in &waits {
            let mut fewer = waits.clone();
            fewer.remove(wait);
            assert_eq!(graph.judge(&fewer), Err(Fault::Hazard), "program {number} without {wait:?}:\n{program}");
            dropped += 1;
        }
        for &wait in candidates.difference(&waits) {
            let mut more = waits.clone();
            more.insert(wait);
            assert!(
                matches!(graph.judge(&more), Err(Fault::Superfluous(_))),
                "program {number} with {wait:?}:\n{program}"
            );
            added += 1;
        }
    }
    assert!(dropped > 1000 && added > 1000, "{dropped} waits dropped, {added} added");
}

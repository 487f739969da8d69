//! The analysis against the truth: on random straight-line programs the waits of the plan are the cross-stream edges of
//! the transitive reduction, found by brute force, its records their distinct sources, and each event gets to where it is
//! waited for.
//!
//! Functions as source text, a fifth as many, go through all of the front half and are held to the same truth.
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
mod source;

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use program::Program;
use reduction::{Edge, Fault, Graph};
use source::Source;

use super::analyse;
use crate::access;
use crate::diag::Diagnostics;
use crate::model::PointId;
use crate::plan::Plan;
use crate::testing::tokens;

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

fn compared(got: &BTreeSet<Edge>, truth: &BTreeSet<Edge>) -> Result<(), String> {
    let list = |edges: BTreeSet<&Edge>| {
        let each = edges.into_iter().map(|(point, node)| format!("node {} for point {}", node.0, point.0));
        each.collect::<Vec<_>>().join(", ")
    };
    let (missing, extra) =
        (truth.difference(got).collect::<BTreeSet<_>>(), got.difference(truth).collect::<BTreeSet<_>>());
    if missing.is_empty() && extra.is_empty() {
        return Ok(());
    }
    Err(format!("waits: missing [{}], too many [{}]", list(missing), list(extra)))
}

/// How many waits a program's plan has, if it is the best.
fn check(program: &Program) -> Result<usize, String> {
    let model = program.model();
    let plan = analyse(&model);
    let graph = Graph::of(&model);
    let waits = graph.waits();
    compared(&waits_of(&plan)?, &waits)?;
    let sources: BTreeSet<PointId> = waits.iter().map(|(point, _)| *point).collect();
    let records: BTreeSet<PointId> = plan.records.keys().copied().collect();
    if records != sources {
        return Err(format!("records at {records:?}, sources of waits are {sources:?}"));
    }
    match execution::lost_event(&model, &plan) {
        Some((point, node)) => Err(format!("the event of point {} does not get to node {}", point.0, node.0)),
        None => Ok(waits.len()),
    }
}

/// The seed of a program: a run that begins at the seed of another tries others.
fn seed_of(first: u64, number: u64) -> u64 {
    first.wrapping_mul(1 << 32).wrapping_add(number)
}

/// Tries programs on all processors, by their numbers; gives the number of waits in all of them.
///
/// # Panics
/// With what the first failure of a thread says.
fn try_all(programs: u64, check: impl Fn(u64) -> Result<usize, String> + Sync) -> usize {
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let check = &check;
    std::thread::scope(|scope| {
        let spawn = |thread| {
            let numbers = (thread..programs).step_by(threads as usize);
            scope.spawn(move || numbers.map(check).sum::<Result<usize, String>>())
        };
        let threads: Vec<_> = (0..threads).map(spawn).collect();
        let results = threads.into_iter().map(|thread| thread.join().expect("a check panicked"));
        results.sum::<Result<usize, String>>().unwrap_or_else(|failure| panic!("{failure}"))
    })
}

#[test]
fn the_plan_of_straight_code_is_the_transitive_reduction() {
    let (programs, first) = (setting("MULTICORE_ORACLE_PROGRAMS", 20_000), setting("MULTICORE_SEED", 1));
    let waits = try_all(programs, |number| {
        let program = Program::random(seed_of(first, number));
        check(&program).map_err(|error| {
            let smallest = program.shrunk(|smaller| check(smaller).is_err());
            let error = check(&smallest).err().unwrap_or(error);
            format!("MULTICORE_SEED={first}, program {number}: {error}\n{smallest}")
        })
    });
    assert!(waits as u64 > 5 * programs, "{waits} waits in {programs} programs");
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

/// The waits of a function, from the line of a point to the line of a node, by its text and by what the generator meant.
fn check_source(source: &Source) -> Result<usize, String> {
    let parsed = crate::parse::parse(TokenStream::new(), tokens(&source.text));
    let function = parsed.map_err(|errors| format!("{:?}", errors.messages()))?;
    let (mut item, mut diagnostics) = (function.item, Diagnostics::default());
    let seen = access::see(&function.args.streams, &mut item, function.blocks, &mut diagnostics);
    let plan = analyse(&seen.model);
    let line = |site: &access::Site| site.span.start().line;
    let waits = waits_of(&plan)?;
    let got: Vec<(usize, usize)> =
        waits.iter().map(|(p, n)| (line(&seen.points[p.index()]), line(&seen.nodes[n.index()]))).collect();
    let truth = Graph::of(&source.model).waits();
    let wanted: Vec<(usize, usize)> =
        truth.iter().map(|(p, n)| (source.points[p.index()], source.nodes[n.index()])).collect();
    let sorted = |mut edges: Vec<(usize, usize)>| {
        edges.sort_unstable();
        edges
    };
    let (got, wanted) = (sorted(got), sorted(wanted));
    if got != wanted {
        return Err(format!("waits (from line, to line) are {got:?}, and ought to be {wanted:?}"));
    }
    let sources: BTreeSet<PointId> = truth.iter().map(|(point, _)| *point).collect();
    let (records, sources) = (plan.records.len(), sources.len());
    if records != sources { Err(format!("{records} records, and ought to be {sources}")) } else { Ok(waits.len()) }
}

#[test]
fn the_plan_of_source_text_is_that_of_what_it_means() {
    let (programs, first) = (setting("MULTICORE_ORACLE_PROGRAMS", 20_000) / 5, setting("MULTICORE_SEED", 1));
    let waits = try_all(programs, |number| {
        let source = Source::random(seed_of(first, number));
        check_source(&source).map_err(|error| {
            let lines = source.text.lines().zip(1..).map(|(text, line)| format!("{line:4}  {text}\n"));
            format!("MULTICORE_SEED={first}, function {number}: {error}\n{}", lines.collect::<String>())
        })
    });
    assert!(waits as u64 > 5 * programs, "{waits} waits in {programs} functions");
}

//! From source to waits, as text: `LINE:STREAM expects VARIABLE of LINE:STREAM, ..` (`mut`: its readers as well).

use proc_macro2::TokenStream;

use super::*;
use crate::analyse::analyse;
use crate::plan::{Plan, WaitKind};
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
    let function =
        crate::parse::parse(TokenStream::new(), tokens(source)).map_err(|e| e.messages()).expect("the source is right");
    let (mut item, blocks) = (function.item, function.blocks);
    let mut diagnostics = Diagnostics::default();
    let seen = see(&function.args.streams, &mut item, blocks, &mut diagnostics);
    assert!(diagnostics.is_empty());
    let plan = analyse(&seen.model);
    (seen, plan)
}

/// The plan of a body; its first line is line 1.
#[track_caller]
fn check(body: &str, expected: &[&str]) {
    let head =
        "fn f(a: &Stream, b: &Stream, c: &Stream, s: &[Stream], x: &Tensor, y: &mut Tensor, n: usize) -> Result<()> {";
    let plan = plan_of(&format!("{head}{}Ok(()) }}", body.trim_start_matches('\n').trim_start()));
    assert_eq!(plan.lines().collect::<Vec<_>>(), expected, "{plan}");
}

#[test]
fn a_value_of_another_stream() {
    check(
        "let p = stream!(a, { f(x)? });
         let q = stream!(b, { g(&p)? });
         stream!(b, { g(&p)?; g(&q)? });",
        &["2:b expects p of 1:a"],
    );
}

#[test]
fn the_nine_pairs_over_two_streams() {
    let uses = [("f(&*y)", false), ("f(&mut *y)", true), ("y.update(x)", true)];
    for (first, writes) in uses {
        for (second, overwrites) in uses {
            let body = format!("stream!(a, {{ {first}? }});\n stream!(b, {{ {second}? }});");
            let kind = if overwrites { "expects mut" } else { "expects" };
            let wait = format!("2:b {kind} y of 1:a");
            check(
                &body,
                if writes || overwrites { std::slice::from_ref(&wait) } else { &[] }
                    .iter()
                    .map(|s| s.as_str())
                    .collect::<Vec<_>>()
                    .as_slice(),
            );
        }
    }
}

#[test]
fn what_another_wait_implies_is_left_out() {
    check(
        "let p = stream!(a, { f(x)? });
         let q = stream!(b, { f(&p)? });
         let r = stream!(c, { g(&p, &q)? });
         stream!(a, { g(&q, &r)? });",
        &["2:b expects p of 1:a", "3:c expects q of 2:b", "4:a expects r of 3:c"],
    );
}

#[test]
fn a_write_waits_for_all_readers() {
    check(
        "stream!(a, { f(&y)? });
         stream!(b, { f(&y)?; f(&y)? });
         stream!(c, { f(&mut y)? });",
        &["3:c expects mut y of 1:a, 2:b"],
    );
}

#[test]
fn a_new_value_waits_for_nobody() {
    check(
        "let mut p = stream!(a, { f(x)? });
         stream!(b, { g(&p)? });
         stream!(a, { p = f(x)? });
         stream!(b, { g(&p)? });",
        &["2:b expects p of 1:a", "4:b expects p of 3:a"],
    );
}

#[test]
fn fields_are_places_of_their_own() {
    check(
        "stream!(a, { f(&mut y.k)? });
         stream!(b, { f(&mut y.v)? });
         stream!(b, { f(&y.k.inner)? });
         stream!(c, { f(&mut y.all()?)? });",
        &["3:b expects y of 1:a", "4:c expects mut y of 3:b"],
    );
}

#[test]
fn an_element_is_as_good_as_the_whole() {
    check(
        "stream!(a, { f(&mut y[n])? });
         stream!(b, { f(&mut y[n + 1])? });
         stream!(c, { f(&y)? });",
        &["2:b expects mut y of 1:a", "3:c expects y of 2:b"],
    );
}

#[test]
fn the_last_of_two_uses_is_recorded_once() {
    let (_, plan) = planned(
        "fn f(a: &Stream, b: &Stream, x: &Tensor) -> Result<()> {
        let (p, q) = stream!(a, { (f(x)?, g(x)?) });
        stream!(b, { g(&p, &q)? });
        Ok(())
    }",
    );
    assert_eq!((plan.records.len(), plan.waits.len()), (1, 1));
}

#[test]
fn branches() {
    check(
        "let p;
         if n == 0 { p = stream!(a, { f(x)? }); }
         else { p = f(x)?; }
         stream!(b, { g(&p)? });",
        &["4:b expects p of 2:a, 3:main"],
    );
    check(
        "let p = if n == 0 {
             stream!(a, { f(x)? })
         } else {
             stream!(b, { f(x)? })
         };
         stream!(b, { g(&p)? });",
        &["6:b expects p of 2:a"],
    );
}

#[test]
fn arms_of_a_match() {
    check(
        "let p = stream!(a, { f(x)? });
         let q = match n {
             0 => p,
             1 => stream!(b, { g(&p)? }),
             n if n > 3 => g(&p)?,
             _ => stream!(c, { f(x)? }),
         };
         stream!(b, { g(&q)? });",
        &["4:b expects p of 1:a", "5:main expects p of 1:a", "8:b expects q of 1:a, 5:main, 6:c"],
    );
}

#[test]
fn what_a_pattern_binds() {
    check(
        "let p = stream!(a, { f(x) });
         match p { Ok(v) => stream!(b, { g(&v)? }), Err(e) => return Err(e) };
         let pair = (stream!(a, { f(x)? }), stream!(b, { f(x)? }));
         let (l, r) = pair;
         stream!(c, { g(&r)? });",
        &["2:b expects p of 1:a", "5:c expects r of 3:a, 3:b"],
    );
}

#[test]
fn loops_carry_conflicts_over() {
    check(
        "for _ in 0..n {
             stream!(a, { f(&mut y)? });
             stream!(b, { g(&y)? });
         }
         g(&y)?;",
        &["2:a expects mut y of 3:b", "3:b expects y of 2:a", "5:main expects y of 2:a"],
    );
    // Each round's variables are its own.
    check(
        "for i in 0..n {
             let p = stream!(&s[i], { f(x)? });
             stream!(b, { g(&p)? });
         }",
        &["3:b expects p of 2:&s[i]"],
    );
    check(
        "let mut p = f(x)?;
         while n > 0 { p = stream!(&s[n], { g(&p)? }); }
         g(&p)?;",
        &["2:&s[n] expects p of 1:main, 2:&s[n]", "3:main expects p of 2:&s[n]"],
    );
}

#[test]
fn values_that_change_hands_round_a_loop() {
    check(
        "let mut prev = f(x)?;
         let mut cur = stream!(a, { f(x)? });
         for _ in 0..n {
             let next = stream!(b, { g(&cur, &prev)? });
             prev = cur;
             cur = next;
         }
         stream!(c, { g(&prev)? });",
        &["4:b expects cur of 2:a", "4:b expects prev of 1:main, 2:a", "8:c expects prev of 1:main, 2:a, 4:b"],
    );
}

#[test]
fn leaving_a_block() {
    check(
        "for i in 0..n {
             stream!(a, { f(&mut y)?; if i == 1 { break; } f(&mut y)?; });
             stream!(b, { g(&y)?; continue; });
         }
         stream!(c, { g(&y)? });",
        &["2:a expects mut y of 3:b", "3:b expects y of 2:a", "5:c expects y of 2:a, 2:a"],
    );
}

#[test]
fn what_returns_is_not_waited_for() {
    check(
        "let p = stream!(a, { f(x)? });
         if n == 0 { stream!(b, { f(&mut y)? }); return Ok(()); }
         stream!(c, { g(&y)? });
         let Some(q) = stream!(b, { g(&p)? }) else { stream!(c, { f(&mut y)? }); return Ok(()) };
         stream!(a, { g(&y, &q)? });",
        &["4:b expects p of 1:a", "5:a expects q of 4:b"],
    );
}

#[test]
fn names_mean_bindings() {
    check(
        "let p = stream!(a, { f(x)? });
         let q = stream!(b, { let p = f(x)?; g(&p)? });
         let p = stream!(b, { let r = { let p = p; g(&p)? }; r });
         if let Some(p) = Some(&q) { stream!(b, { g(p)? }); }
         let h = |p: &Tensor| g(p);
         stream!(b, { h(&p)? });
         stream!(c, { g(&p)? });",
        &["3:b expects p of 1:a", "7:c expects p of 3:b"],
    );
}

#[test]
fn closures_use_what_they_capture() {
    check(
        "let w = stream!(a, { f(x)? });
         let by_w = |v: &Tensor| g(v, &w);
         stream!(b, { by_w(x)? });
         let mut add = |v| y.update(v);
         stream!(a, { add(x)? });
         stream!(b, { add(x)? });",
        &["3:b expects w of 1:a", "6:b expects mut y of 5:a"],
    );
}

#[test]
fn borrows_reach_what_they_borrow() {
    check(
        "let r = &mut y;
         stream!(a, { f(r)? });
         stream!(b, { g(&y)? });
         let mut p = f(x)?;
         let v = p.view();
         stream!(a, { g(&v)? });
         stream!(b, { p.update(x)? });",
        &["3:b expects y of 2:a", "6:a expects v of 5:main", "7:b expects mut p of 6:a"],
    );
}

#[test]
fn clones_share_memory_until_one_of_them_is_written() {
    check(
        "let mut p = stream!(a, { f(x)? });
         let q = p.clone();
         stream!(b, { g(&q)? });
         stream!(a, { p.update(x)? });
         let mut kept = Vec::new();
         kept.push(p.clone());
         stream!(c, { g(&p)? });
         stream!(a, { f(&mut kept[0])? });",
        &[
            "3:b expects p of 1:a",
            "4:a expects mut p of 3:b",
            "6:main expects p of 4:a",
            "7:c expects kept of 6:main",
            "8:a expects mut kept of 7:c",
        ],
    );
}

#[test]
fn the_halves_of_a_buffer_do_not_conflict() {
    check(
        "let (low, high) = y.split_at_mut(n);
         stream!(a, { f(low)? });
         stream!(b, { f(high)? });
         stream!(b, { f(low)? });
         stream!(c, { g(&y)? });",
        &[
            "2:a expects mut low of 1:main",
            "3:b expects mut high of 1:main",
            "4:b expects mut low of 2:a",
            "5:c expects y of 4:b",
        ],
    );
}

#[test]
fn containers_take_events_along() {
    check(
        "let mut outs = Vec::new();
         for i in 0..n {
             let p = stream!(&s[i], { f(x)? });
             outs.push(p);
         }
         stream!(b, { g(&outs)? });
         for p in &outs { stream!(c, { g(p)? }); }",
        &["4:main expects p of 3:&s[i]", "6:b expects outs of 4:main", "7:c expects outs of 4:main"],
    );
}

#[test]
fn nested_blocks() {
    check(
        "let p = stream!(a, {
             let q = f(x)?;
             let r = stream!(b, { g(&q)? });
             stream!(a, cores(cube = 3), { g(&q)? });
             g(&r)?
         });
         g(&p)?;",
        &["3:b expects q of 2:a", "5:a expects r of 3:b", "7:main expects p of 5:a"],
    );
    // What comes before a block in its statement is recorded before it.
    check("g(y.update(x)?, stream!(a, { f(&y)? }))?;", &["1:a expects y of 1:main", "1:main expects block of 1:a"]);
}

#[test]
fn a_call_waits_for_its_own_operands_alone() {
    check(
        "let p = stream!(a, { f(x)? });
         let q = stream!(b, { f(x)? });
         stream!(c, {
             f(&p)?
                 .add(&q)?
                 .add(&p)?
         });",
        &["4:c expects p of 1:a", "4:c expects q of 2:b"],
    );
}

#[test]
fn streams_of_which_nothing_is_known() {
    check(
        "let mut p = f(x)?;
         stream!(&s[0], { p.update(x)? });
         stream!(&s[0], { p.update(x)? });
         let mut t = &s[1];
         stream!(t, { p.update(x)? });
         t = &s[2];
         stream!(t, { p.update(x)? });
         let u = &s[3];
         stream!(u, { p.update(x)? });
         stream!(&u, { p.update(x)? });",
        &[
            "2:&s[0] expects mut p of 1:main",
            "3:&s[0] expects mut p of 2:&s[0]",
            "5:t expects mut p of 3:&s[0]",
            "7:t expects mut p of 5:t",
            "9:u expects mut p of 7:t",
        ],
    );
}

#[test]
fn main_is_the_stream_at_entry() {
    check("let p = stream!(main, { f(x)? });\n g(&p)?;", &[]);
    check("let main = a;\n let p = stream!(main, { f(x)? });\n g(&p)?;", &["3:main expects p of 2:main"]);
}

#[test]
fn effects_that_types_do_not_show() {
    check(
        "stream!(a, writes(y), { raw()? });
         stream!(b, reads(y), { raw()? });
         stream!(c, after(y), { f(x)? });
         stream!(a, writes(y), { raw()? });",
        &["2:b waits for y of 1:a", "3:c waits for y of 1:a", "4:a waits for mut y of 2:b"],
    );
}

#[test]
fn numbers_cross_streams_freely() {
    check(
        "let rows = x.shape()[0];
         let k = (rows + 1) as f32 * 2.0;
         stream!(a, { f(x, k, rows, n)? });
         for (i, t) in s.iter().enumerate() { stream!(t, { f(x, i)? }); }",
        &[],
    );
}

#[test]
fn names_in_unknown_macros_are_used() {
    check(
        "let p = stream!(a, { f(x)? });
         let mut q = stream!(a, { f(x)? });
         stream!(b, { mystery!(p => q) });
         stream!(a, { g(&q)? });
         println!(\"{p:?}\");",
        &["3:b expects mut q of 2:a", "4:a expects q of 3:b", "5:main expects p of 1:a"],
    );
}

#[test]
fn conditions_are_evaluated_before_their_arms() {
    check(
        "if loss(&y)? > 0.0 { stream!(a, { f(&mut y)? }); }
         while loss(&y)? > 1.0 { stream!(b, { f(&mut y)? }); }",
        &[
            "1:a expects mut y of 1:main",
            "2:main expects y of 1:a, 2:b",
            // What only one path did teaches nothing about others: `a` is named again.
            "2:b expects mut y of 1:a, 2:main",
        ],
    );
}

#[test]
fn a_parameter_may_have_been_used_before_it_gets_its_first_value_here() {
    // Second time round, what `y` lends is read through `x`.
    let plan = plan_of(
        "fn f(a: &Stream, b: &Stream, mut x: View, mut y: Tensor) -> Result<()> {
             loop {
                 stream!(a, { f(&x)? });
                 stream!(b, { y.update()? });
                 x = view(&y)?;
             }
         }",
    );
    let lines: Vec<&str> = plan.lines().collect();
    assert!(lines.contains(&"4:b expects mut y of 3:a, 5:main"), "{plan}");
}

#[test]
fn a_stream_named_in_a_loop_has_waited_for_nothing_in_the_next_round() {
    check(
        "let mut u = x.clone();
        for i in 0..n {
            let r = &s[i];
            stream!(r, { g(&u)? });
            stream!(a, { u = x.silu()? });
            stream!(r, { g(&u)? });
        }",
        &["4:r expects u of 5:a", "6:r expects u of 5:a"],
    );
}

#[test]
fn a_list_built_in_a_loop() {
    check(
        "let mut head = None;
        for i in 0..n {
            let t = stream!(a, { x.silu()? });
            let mut node = Node { value: t, next: None };
            node.next = head;
            head = Some(Box::new(node));
        }
        stream!(b, { g(&head)? });",
        &["8:b expects head of 3:a"],
    );
}

#[test]
fn a_borrow_made_by_a_pattern_is_one_of_what_it_was_taken_from() {
    check(
        "let mut pair = Pair { left: x.clone(), right: x.clone() };
        stream!(a, {
            let Pair { ref mut left, ref right } = pair;
            left.add_(right)?;
        });
        stream!(b, { g(&pair.left)? });",
        &["6:b expects pair of 4:a"],
    );
}

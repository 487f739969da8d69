//! Pictures: they are small enough, they say what they are drawn from, and a browser shows them.

mod browser;

use multicore_timeline::{Capture, Core, Mark, MarkKind, Origin, Record, Sync, SyncKind, Via, gantt};

/// A capture of many operators on a few streams, with waits.
pub(crate) fn capture(count: u64, streams: u32) -> Capture {
    let cores = [Core::AiCore, Core::AiVectorCore, Core::MixAic, Core::Communication];
    let records: Vec<Record> = (0..count)
        .map(|number| {
            let stream = (number % u64::from(streams)) as u32;
            Record {
                stream_id: Some(stream),
                start_ns: 1_774_497_535_428_633_256 + number * 700,
                duration_ns: 500 + number % 7 * 1_000,
                block_num: 1 + (number % 24) as u32,
                ..Record::new(format!("op_{number}"), "MatMulV2", cores[(number % 4) as usize])
            }
        })
        .collect();
    let syncs: Vec<Sync> =
        (0..count / 10).flat_map(|number| [sync(number, SyncKind::Record), sync(number, SyncKind::Wait)]).collect();
    Capture::from_records(&records, &syncs)
}

fn sync(number: u64, kind: SyncKind) -> Sync {
    let at = 1_774_497_535_428_633_256 + number * 7_000;
    let wait = kind == SyncKind::Wait;
    Sync {
        kind,
        via: Via::Event,
        origin: Origin::Hand,
        device_id: 0,
        stream_id: 50 + u32::from(wait),
        start_ns: if wait { at } else { at + 3_000 },
        duration_ns: if wait { 3_500 } else { 0 },
        event: Some(number),
        task: None,
        of_stream: None,
        site: None,
    }
}

pub(crate) fn options(capture: &Capture) -> gantt::Options {
    let start_ns = capture.rows[0].start_ns;
    let mark =
        |kind, text: &str| Mark { kind, device: 0, stream: Some(0), text: text.into(), start_ns, duration_ns: 5_000 };
    gantt::Options {
        title: "a <run> & \"more\"".into(),
        verdict: "serial: one after the other".into(),
        marks: vec![
            mark(MarkKind::SideWindow, "the side"),
            mark(MarkKind::MainWindow, "the dominator"),
            mark(MarkKind::Overlap, "serial: 0 %"),
            mark(MarkKind::Barrier, "a </title> barrier"),
        ],
        notes: vec![(0, Some(0), "main".into())],
        cores: Some((24, 48)),
        origin_ns: None,
    }
}

pub(crate) fn svg(capture: &Capture) -> String {
    let mut text = Vec::new();
    gantt::svg(&mut text, capture, &options(capture)).expect("a vector takes everything");
    String::from_utf8(text).expect("UTF-8")
}

pub(crate) fn html(capture: &Capture) -> String {
    let mut text = Vec::new();
    gantt::html(&mut text, capture, &options(capture)).expect("a vector takes everything");
    String::from_utf8(text).expect("UTF-8")
}

#[test]
fn an_svg_does_not_grow_with_the_number_of_operators() {
    let few = svg(&capture(10, 4));
    assert!(few.len() < 20_000, "{}", few.len());
    let many = svg(&capture(100_000, 4));
    assert!(many.len() < 400_000, "{}", many.len());
    // Where every pixel is taken, more operators are not more picture.
    let fewer = svg(&capture(20_000, 4));
    assert!(many.len() < fewer.len() * 5 / 4, "{} after {}", many.len(), fewer.len());
}

#[test]
fn a_page_takes_a_few_bytes_an_operator() {
    let page = html(&capture(100_000, 4));
    assert!(page.len() < 8_000_000, "{}", page.len());
}

#[test]
fn ten_operators_are_all_named() {
    let text = svg(&capture(10, 4));
    for number in 0..10 {
        assert!(text.contains(&format!("op_{number} (")), "op_{number} has no title");
    }
    for name in [
        "Stream 0",
        "Stream 3",
        "main",
        "cube",
        "communication",
        "10 operators",
        "chip: 24",
        "the side",
        "the dominator",
    ] {
        assert!(text.contains(name), "{name}");
    }
    assert!(text.contains("prefers-color-scheme:dark"));
    assert!(text.contains("url(#h)") && text.contains("marker-end"), "waits and their arrows");
}

#[test]
fn no_operator_disappears_in_merging() {
    // 1000 narrow operators of one kind, each in a pixel of its own: all of them leave a trace.
    let records: Vec<Record> = (0..500)
        .map(|number| Record {
            stream_id: Some(1),
            start_ns: number * 100_000,
            duration_ns: 10,
            ..Record::new("op", "Cast", Core::AiVectorCore)
        })
        .collect();
    let text = svg(&Capture::from_records(&records, &[]));
    let path = text.lines().find(|line| line.starts_with("<path fill=\"#1f8a70\"")).expect("the merged operators");
    assert_eq!(path.matches('M').count(), 500);
}

#[test]
fn texts_are_escaped() {
    let capture = capture(10, 4);
    let text = svg(&capture);
    assert!(text.contains("a &lt;run&gt; &amp; &quot;more&quot;") && !text.contains("<run>"));
    let page = html(&capture);
    assert!(!page.contains("<run>") && page.contains("a \\u003crun>"));
}

#[test]
fn nothing_is_loaded_from_anywhere() {
    for text in [svg(&capture(100, 3)), html(&capture(100, 3))] {
        for outside in ["http:", "https:", "src=", "@import", "url(\"", "<link"] {
            let found = text.replace("http://www.w3.org/2000/svg", "").contains(outside);
            assert!(!found, "{outside}");
        }
    }
}

#[test]
fn an_empty_capture_is_an_empty_picture() {
    let capture = Capture::default();
    let mut text = Vec::new();
    gantt::svg(&mut text, &capture, &gantt::Options::default()).expect("a vector takes everything");
    gantt::html(&mut text, &capture, &gantt::Options::default()).expect("a vector takes everything");
}

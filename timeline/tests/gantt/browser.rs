//! Pictures in a real browser. Without Chromium these tests say so and pass.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{capture, html, svg};

fn chromium() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
    let paths = std::env::var_os("PATH")?;
    let found =
        std::env::split_paths(&paths).flat_map(|folder| names.map(|name| folder.join(name))).find(|path| path.exists());
    if found.is_none() {
        eprintln!("skipped: no Chromium in PATH");
    }
    found
}

/// Opens a page without network and gives what `mode` asks for.
fn open(chromium: &Path, folder: &Path, page: &str, mode: &str) -> String {
    let mut command = Command::new(chromium);
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]);
    command.args(["--disable-background-networking", "--disable-component-update", "--hide-scrollbars"]);
    command.args(["--virtual-time-budget=20000", "--window-size=1300,1000"]);
    command.arg(format!("--user-data-dir={}", folder.join("profile").display()));
    command.arg(mode).arg(format!("file://{}", folder.join(page).display()));
    let output = command.output().expect("Chromium starts");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Zooms, moves, points and searches like a reader, and writes what came of it into the page.
const READER: &str = r##"<script>
addEventListener("load", () => {
  const frame = () => draw();
  const canvas = document.getElementById("picture"), box = canvas.getBoundingClientRect(), report = {};
  const at = (type, x, y, more) => canvas.dispatchEvent(new (type === "wheel" ? WheelEvent : PointerEvent)(type,
    { clientX: box.left + x, clientY: box.top + y, bubbles: true, cancelable: true, pointerId: 1, ...more }));
  frame();
  report.all = +document.body.dataset.drawn;
  let lane = 0;
  for (let y = 30; y < box.height && !lane; y += 4) for (let x = 180; x < 400 && !lane; x += 2) {
    at("pointermove", x, y);
    if (!document.getElementById("tip").hidden && document.getElementById("tip").textContent.includes("took")) lane = y;
  }
  report.tip = document.getElementById("tip").textContent;
  for (let i = 0; i < 20; i++) at("wheel", 178, 200, { deltaY: -50 });
  frame();
  report.zoomed = location.hash;
  report.few = +document.body.dataset.drawn;
  const find = document.getElementById("find");
  find.value = "op_7";
  find.dispatchEvent(new Event("input"));
  frame();
  report.found = document.body.dataset.found;
  document.getElementById("fit").click();
  frame();
  report.fitted = location.hash;
  const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data, seen = new Set();
  for (let i = 0; i < pixels.length; i += 4) seen.add(pixels[i] << 16 | pixels[i + 1] << 8 | pixels[i + 2]);
  report.cube = seen.has(0x3b6fd4);
  report.vector = seen.has(0x1f8a70);
  document.body.dataset.report = JSON.stringify(report);
});
</script>"##;

fn read_page(chromium: &Path, count: u64) -> serde_json::Value {
    let folder = tempfile::tempdir().expect("a folder");
    let page = html(&capture(count, 4)).replace("</body>", &format!("{READER}</body>"));
    std::fs::write(folder.path().join("page.html"), page).expect("the folder is ours");
    let dom = open(chromium, folder.path(), "page.html", "--dump-dom");
    let (_, report) =
        dom.split_once("data-report=\"").unwrap_or_else(|| panic!("no report: {}", &dom[..dom.len().min(800)]));
    let (report, _) = report.split_once('"').expect("an end");
    serde_json::from_str(&report.replace("&quot;", "\"").replace("&amp;", "&")).expect("JSON")
}

#[test]
fn a_page_is_drawn_zoomed_pointed_at_and_searched() {
    let Some(chromium) = chromium() else { return };
    let few = read_page(&chromium, 10);
    assert_eq!(few["all"], 11, "ten operators and a wait: {few}");
    assert!(few["tip"].as_str().expect("a text").contains("took"), "{few}");
    assert!(few["zoomed"].as_str().expect("a text").len() > 1, "{few}");
    assert_eq!((&few["fitted"], &few["found"]), (&"".into(), &"1".into()), "{few}");
    assert_eq!((&few["cube"], &few["vector"]), (&true.into(), &true.into()), "{few}");

    let many = read_page(&chromium, 100_000);
    let drawn = many["all"].as_u64().expect("a number");
    // At most a bar a pixel and lane, of which there are some 15.
    assert!((500..20_000).contains(&drawn), "{many}");
    assert!(many["few"].as_u64() < Some(drawn), "{many}");
}

#[test]
fn an_svg_is_well_formed_and_drawn() {
    let Some(chromium) = chromium() else { return };
    for count in [10, 100_000] {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("picture.svg"), svg(&capture(count, 4))).expect("the folder is ours");
        let dom = open(&chromium, folder.path(), "picture.svg", "--dump-dom");
        assert!(dom.contains("</svg>") && !dom.contains("parsererror"), "{}", &dom[..dom.len().min(600)]);
        let shot = folder.path().join("picture.png");
        open(&chromium, folder.path(), "picture.svg", &format!("--screenshot={}", shot.display()));
        let size = std::fs::metadata(shot).expect("a picture").len();
        assert!(size > 8_000, "a blank picture compresses to less than {size}");
    }
}

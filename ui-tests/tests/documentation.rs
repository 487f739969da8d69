//! The documentation of a real function has its plan in it, as rustdoc makes it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The page of a function of an example.
fn page(example: &str, function: &str) -> String {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let workspace = manifest.parent().expect("the package is in a workspace");
    let made = Command::new(env!("CARGO"))
        .args(["rustdoc", "--quiet", "--package", "examples", "--example", example])
        .current_dir(workspace)
        .output()
        .expect("cargo runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace.join("target"), PathBuf::from);
    let page = target.join("doc").join(example).join(format!("fn.{function}.html"));
    std::fs::read_to_string(&page).unwrap_or_else(|error| panic!("{}: {error}", page.display()))
}

fn unescaped(html: &str) -> String {
    let pairs = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    pairs.iter().fold(html.to_owned(), |text, (escaped, plain)| text.replace(escaped, plain))
}

#[test]
fn an_explained_function_has_its_plan() {
    let page = page("06_plans", "gated_product");
    assert!(page.contains(">Plan</h"), "a heading");
    assert!(page.contains("3 blocks on 2 streams, 1 record, 1 wait."));
    let rows = "<th>wait</th><th>line</th><th>variable</th><th>after the record</th>";
    assert!(page.contains(rows), "a table");
    assert!(page.contains("<td><code>gate</code></td><td><code>elementwise</code>, line 12</td>"), "{page}");
    let (_, diagram) =
        page.split_once("<pre class=\"language-mermaid\"><code>").expect("a block in Mermaid's language");
    let (diagram, _) = diagram.split_once("</code></pre>").expect("it ends");
    assert_eq!(
        unescaped(diagram),
        "sequenceDiagram
    participant s0 as matrix
    participant s1 as elementwise
    Note over s0: line 11, cores(cube = 20)
    Note over s1: line 12, cores(vector = 8)
    s1->>s0: gate (line 12 → 13)
    Note over s0: line 13"
    );
}

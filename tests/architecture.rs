//! The output that `compiler/ARCHITECTURE.md` shows is what the program prints.
//!
//! A comment on the page names a question, a dialect and a stage; the block below it must hold what
//! `portcullis explain` prints of that stage, for the last policy above it. With
//! `UPDATE_FIXTURES=1 cargo test --test architecture` the blocks are written anew; a person reads them.

#![expect(clippy::unwrap_used, reason = "a page that cannot be read fails the test")]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/compiler/ARCHITECTURE.md");

/// What `explain` prints of one stage.
fn explained(policy: &Path, request: &str) -> String {
    let mut parts = request.rsplitn(3, " | ");
    let (stage, dialect, question) = (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
    let output = Command::new(env!("CARGO_BIN_EXE_portcullis"))
        .arg("explain")
        .args([policy.as_os_str(), question.as_ref()])
        .args(["--dialect", dialect])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{question}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let heading = format!("== {stage} ==\n\n");
    let (_, rest) = text.split_once(&heading).unwrap_or_else(|| panic!("no stage `{stage}`"));
    rest.split("\n\n== ").next().unwrap().trim_end().to_owned()
}

/// The page with every block of output replaced by the real one, and how many there are.
fn rewritten(page: &str) -> (String, usize) {
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("policy.polar");
    let mut out = Vec::new();
    let mut n_blocks = 0;
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        out.push(line.to_owned());
        if line == "```polar" {
            let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            fs::write(&policy, body.join("\n")).unwrap();
            out.extend(body.into_iter().chain(["```"]).map(str::to_owned));
        }
        if let Some(request) = line.strip_prefix("<!-- explain: ").and_then(|rest| rest.strip_suffix(" -->"))
        {
            let fence = lines.next().unwrap_or_default();
            assert!(fence.starts_with("```"), "no block follows `{line}`");
            lines.by_ref().find(|line| *line == "```").unwrap();
            out.extend([fence.to_owned(), explained(&policy, request), "```".to_owned()]);
            n_blocks += 1;
        }
    }
    (out.join("\n") + "\n", n_blocks)
}

#[test]
fn the_page_shows_what_the_program_prints() {
    let page = fs::read_to_string(PAGE).unwrap();
    let (real, n_blocks) = rewritten(&page);
    assert!(n_blocks >= 6, "the page follows its policy through every stage");
    if std::env::var_os("UPDATE_FIXTURES").is_some() {
        fs::write(PAGE, real).unwrap();
    } else if let Some((at, (shown, real))) =
        (1..).zip(page.lines().zip(real.lines())).find(|(_, (shown, real))| shown != real)
    {
        panic!("compiler/ARCHITECTURE.md:{at} shows\n  {shown}\nbut the program prints\n  {real}");
    } else {
        assert_eq!(page.lines().count(), real.lines().count(), "a block of compiler/ARCHITECTURE.md is cut");
    }
}

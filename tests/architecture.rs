//! The pages tell the truth: what `compiler/ARCHITECTURE.md` shows is what the program prints.
//!
//! A comment on the page names a question, a dialect and a stage; the block below it must hold what
//! `portcullis explain` prints of that stage, for the last policy above it. Instead of a dialect it may name
//! the column of a filter, for the last data bindings and facts above it. With
//! `UPDATE_FIXTURES=1 cargo test --test architecture` the blocks are written anew; a person reads them.
//! The policies of the other pages pass their own tests, and the files that pages name exist.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a page that cannot be read fails the test")]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/compiler/ARCHITECTURE.md");

/// What `explain` prints of one stage.
fn explained(folder: &Path, request: &str) -> String {
    let mut parts = request.rsplitn(3, " | ");
    let (stage, for_what, question) = (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
    let options = match for_what.strip_prefix("filter over ") {
        Some(column) => vec!["--bindings", "bindings.yaml", "--facts", "facts.txt", "--filter", column],
        None => vec!["--dialect", for_what],
    };
    let output = Command::new(env!("CARGO_BIN_EXE_portcullis"))
        .current_dir(folder)
        .args(["explain", "policy.polar", question])
        .args(options)
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
    let files = [("```polar", "policy.polar"), ("```yaml", "bindings.yaml"), ("```facts", "facts.txt")];
    let mut out = Vec::new();
    let mut n_blocks = 0;
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        out.push(line.to_owned());
        if let Some((_, file)) = files.iter().find(|(fence, _)| line == *fence) {
            let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            fs::write(folder.path().join(file), body.join("\n")).unwrap();
            out.extend(body.into_iter().chain(["```"]).map(str::to_owned));
        }
        if let Some(request) = line.strip_prefix("<!-- explain: ").and_then(|rest| rest.strip_suffix(" -->"))
        {
            let fence = lines.next().unwrap_or_default();
            assert!(fence.starts_with("```"), "no block follows `{line}`");
            lines.by_ref().find(|line| *line == "```").unwrap();
            out.extend([fence.to_owned(), explained(folder.path(), request), "```".to_owned()]);
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

/// The readme and what stands in `docs`.
fn pages() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let docs = fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> =
        docs.chain([root.join("README.md"), PAGE.into()]).filter(|path| path.is_file()).collect();
    paths.sort();
    let named = |path: &std::path::PathBuf| path.strip_prefix(root).unwrap().display().to_string();
    paths.iter().map(|path| (named(path), fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn the_policies_of_the_pages_pass_their_tests() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("policy.polar");
    for (page, text) in pages() {
        for policy in text.split("```polar\n").skip(1).filter_map(|rest| rest.split("```").next()) {
            fs::write(&path, policy).unwrap();
            let output =
                Command::new(env!("CARGO_BIN_EXE_portcullis")).arg("test").arg(&path).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            let shown = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{page}:\n{policy}\n{shown}{said}");
        }
    }
}

/// Files and folders between backticks, as seen from the root of the repository.
#[test]
fn the_files_that_pages_name_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut missing = Vec::new();
    for (page, text) in pages() {
        let quoted = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
        let top = ["src/", "compiler/", "tests/", "fixtures/", "docs/", "benches/", "scripts/"];
        let files = quoted.filter(|name| top.iter().any(|top| name.starts_with(top)) && !name.contains(' '));
        missing.extend(files.filter(|name| !root.join(name).exists()).map(|name| format!("{page}: {name}")));
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

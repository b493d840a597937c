//! Output shown on pages is real: what the pages of `PAGES` show is what the program prints.
//!
//! A comment on such a page names a question, and the block below it must hold what the program prints for
//! the last policy above it, with the last data bindings and facts above it:
//!
//! - `explain: QUESTION | DIALECT | STAGE` is one stage of `portcullis explain`; instead of a dialect it may
//!   name the column of a filter;
//! - `compile: QUESTION | OPTIONS` is the output of `portcullis compile`.
//!
//! With `UPDATE_FIXTURES=1 cargo test --test repository -- pages::` the blocks are rewritten; a person
//! reads them. The policies of all pages pass their own tests, and the files that pages name or link to
//! exist, with the names that pages find in them.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a page that cannot be read fails the test")]

use portcullis_testkit::markdown::anchor;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The pages with output, and how many blocks of it each has at least.
const PAGES: &[(&str, usize)] =
    &[("compiler/ARCHITECTURE.md", 6), ("compiler/LOCAL.md", 6), ("README.md", 1)];

/// What the program prints.
fn printed(folder: &Path, args: &[&str]) -> String {
    let output = Command::new(portcullis_testkit::program::path())
        .current_dir(folder)
        .args(args)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What `compile` prints for a question.
fn compiled(folder: &Path, request: &str) -> String {
    let (question, options) = request.rsplit_once(" | ").unwrap();
    let args: Vec<&str> =
        ["compile", "policy.polar", question].into_iter().chain(options.split(' ')).collect();
    printed(folder, &args).trim_end().to_owned()
}

/// What `explain` prints of one stage.
fn explained(folder: &Path, request: &str) -> String {
    let mut parts = request.rsplitn(3, " | ");
    let (stage, for_what, question) = (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
    let options = match for_what.strip_prefix("filter over ") {
        Some(column) => vec!["--bindings", "bindings.yaml", "--facts", "facts.txt", "--filter", column],
        None => vec!["--dialect", for_what],
    };
    let args: Vec<&str> = ["explain", "policy.polar", question].into_iter().chain(options).collect();
    let text = printed(folder, &args);
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
        let comment = line.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->"));
        let real = match comment.and_then(|comment| comment.split_once(": ")) {
            Some(("explain", request)) => explained(folder.path(), request),
            Some(("compile", request)) => compiled(folder.path(), request),
            _ => continue,
        };
        let fence = lines.next().unwrap_or_default();
        assert!(fence.starts_with("```"), "no block follows `{line}`");
        lines.by_ref().find(|line| *line == "```").unwrap();
        out.extend([fence.to_owned(), real, "```".to_owned()]);
        n_blocks += 1;
    }
    (out.join("\n") + "\n", n_blocks)
}

#[test]
fn the_pages_show_what_the_program_prints() {
    for (name, at_least) in PAGES {
        let path = root().join(name);
        let page = fs::read_to_string(&path).unwrap();
        let (real, n_blocks) = rewritten(&page);
        assert!(n_blocks >= *at_least, "{name} shows output");
        if std::env::var_os("UPDATE_FIXTURES").is_some() {
            fs::write(path, real).unwrap();
        } else if let Some((at, (shown, real))) =
            (1..).zip(page.lines().zip(real.lines())).find(|(_, (shown, real))| shown != real)
        {
            panic!("{name}:{at} shows\n  {shown}\nbut the program prints\n  {real}");
        } else {
            assert_eq!(page.lines().count(), real.lines().count(), "a block of {name} is cut");
        }
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The Markdown files in a folder, its subfolders included.
fn markdown(folder: &Path) -> Vec<PathBuf> {
    let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).partition(|path| path.is_dir());
    let files = files.into_iter().filter(|path| path.extension().is_some_and(|ending| ending == "md"));
    files.chain(folders.iter().flat_map(|folder| markdown(folder))).collect()
}

/// The pages for readers: those of the root, the compiler, the benchmarks and the tests, and all in `docs`.
fn pages() -> Vec<(String, String)> {
    let top = ["", "compiler", "benches", "tests", "tests/random"].map(|folder| root().join(folder));
    let top = top.iter().flat_map(|folder| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
    let top = top.filter(|path| path.extension().is_some_and(|ending| ending == "md"));
    let mut paths: Vec<PathBuf> = top.chain(markdown(&root().join("docs"))).collect();
    paths.sort();
    let named = |path: &PathBuf| path.strip_prefix(root()).unwrap().display().to_string();
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
                Command::new(portcullis_testkit::program::path()).arg("test").arg(&path).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            let shown = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{page}:\n{policy}\n{shown}{said}");
        }
    }
}

/// Files and folders between backticks, as seen from the root of the repository.
#[test]
fn the_files_that_pages_name_exist() {
    let mut missing = Vec::new();
    for (page, text) in pages() {
        let quoted = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
        let top = ["src/", "compiler/", "tests/", "fixtures/", "docs/", "benches/", "scripts/"];
        let files = quoted.filter(|name| top.iter().any(|top| name.starts_with(top)) && !name.contains(' '));
        missing
            .extend(files.filter(|name| !root().join(name).exists()).map(|name| format!("{page}: {name}")));
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// A page says where something is as `` `name` in `file.rs` ``.
#[test]
fn the_names_that_pages_find_in_files_are_there() {
    let (mut missing, mut n_names) = (Vec::new(), 0);
    for (page, text) in pages() {
        let words: Vec<&str> = text.split_whitespace().collect();
        let text = words.join(" ");
        let parts: Vec<&str> = text.split('`').collect();
        for named in parts.windows(3).filter(|parts| parts[1] == " in ") {
            let [name, _, file] = named else { unreachable!() };
            let Ok(source) = fs::read_to_string(root().join(file)) else { continue };
            let last = name.rsplit("::").next().unwrap();
            let part_of_name = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
            let is_named = source.split(|c| !part_of_name(c)).any(|word| word == last);
            n_names += 1;
            if !is_named {
                missing.push(format!("{page}: `{name}` in `{file}`"));
            }
        }
    }
    assert!(n_names > 40, "{n_names} names");
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// Links within the repository, with the headings that they name.
#[test]
fn the_links_of_pages_lead_somewhere() {
    let mut broken = Vec::new();
    for (page, text) in pages() {
        let links = text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link);
        for link in links.filter(|link| !link.contains("://")) {
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let here = root().join(&page);
            let target = if path.is_empty() { here } else { here.parent().unwrap().join(path) };
            let has_heading = || {
                let target = fs::read_to_string(&target).unwrap_or_default();
                let mut headings = target.lines().filter(|line| line.starts_with('#'));
                headings.any(|line| anchor(line.trim_start_matches('#')) == heading)
            };
            if !target.exists() || !(heading.is_empty() || has_heading()) {
                broken.push(format!("{page}: {link}"));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

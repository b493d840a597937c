//! The types that `portcullis generate` writes, checked by the compilers of their languages: a correct
//! application compiles and runs against a real service, and each mistake causes the expected error.

use super::serve_with;
use libtest_mimic::{Failed, Trial};
use portcullis::http::DEVELOPMENT_KEY;
use portcullis_testkit::program::portcullis;
use portcullis_testkit::tools::{has_npm_packages, is_installed, outputs};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Where the applications are.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/typed");

const POLICY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/policy.polar");

/// The policies whose types must compile, each with the name of its module. The applications import the first
/// two.
const POLICIES: &[(&str, &str)] = &[
    ("policy", "tests/clients/policy.polar"),
    ("hostile", "tests/clients/typed/hostile.polar"),
    ("example", "fixtures/example/policy.polar"),
    ("folders", "docs/example/policy.polar"),
    ("tracker", "docs/local-checks/policy.polar"),
    ("files", "benches/applications/files/policy.polar"),
    ("projects", "benches/applications/projects/policy.polar"),
    ("started", "src/cli/init/policy.polar"),
];

/// One trial for each language.
pub(super) fn trials() -> [Trial; 2] {
    [Trial::test("typed_typescript", typescript), Trial::test("typed_python", python)]
}

fn typescript() -> Result<(), Failed> {
    let node = Path::new(ROOT).join("tests/clients/node");
    has_npm_packages(&node)?;
    let folder = sources("ts")?;
    generate(folder.path(), "typescript", "ts")?;
    fs::create_dir(folder.path().join("node_modules"))?;
    symlink(node.join("node_modules/oso-cloud-2"), folder.path().join("node_modules/oso-cloud"))?;
    let mut compile = Command::new("node");
    compile.arg(node.join("node_modules/typescript/bin/tsc")).args(["-p", ".", "--pretty", "false"]);
    let printed = compile.current_dir(folder.path()).output()?.stdout;
    let printed = String::from_utf8(printed)?;
    // An error begins in the first column; its explanation is indented.
    let mut found: Vec<(usize, String)> = Vec::new();
    for line in printed.lines() {
        match (line.strip_prefix("bad.ts("), found.last_mut()) {
            (Some(rest), _) => {
                let number = rest.split(',').next().and_then(|number| number.parse().ok());
                found.push((number.ok_or_else(|| format!("no place: {line}"))?, rest.to_owned()));
            }
            (None, Some((_, text))) if line.starts_with(' ') => text.push_str(line),
            (None, _) => return Err(format!("only bad.ts has errors:\n{printed}").into()),
        }
    }
    let is_expected = |error: &str, expected: &str| {
        let (code, words) = expected.split_once(' ').unwrap_or((expected, ""));
        error.contains(&format!("error {code}:")) && error.contains(words)
    };
    compare(&folder.path().join("bad.ts"), "; // ", &found, is_expected)?;
    run(Command::new("node").arg("out/run.js"), folder.path())
}

fn python() -> Result<(), Failed> {
    let installed = Path::new(ROOT).join("target/venv/typed");
    is_installed(&Path::new(SOURCES).join("requirements.txt"), &installed.join(".installed"))?;
    let folder = sources("py")?;
    generate(folder.path(), "python", "py")?;
    let mut check = Command::new(installed.join("bin/mypy"));
    check.args(["--strict", "--no-incremental", "--no-error-summary", "--hide-error-context", "--no-pretty"]);
    check.args(["run.py", "bad.py", "hostile_names.py"]);
    check.args(POLICIES.iter().map(|(module, _)| format!("{module}.py")));
    let printed = check.current_dir(folder.path()).output()?.stdout;
    let printed = String::from_utf8(printed)?;
    let mut found: Vec<(usize, String)> = Vec::new();
    for line in printed.lines().filter(|line| !line.contains(": note: ")) {
        let rest = line.strip_prefix("bad.py:").and_then(|rest| rest.split_once(':'));
        let (number, error) = rest.ok_or_else(|| format!("only bad.py has errors:\n{printed}"))?;
        found.push((number.parse()?, error.to_owned()));
    }
    let is_expected = |error: &str, expected: &str| error.ends_with(&format!("[{expected}]"));
    compare(&folder.path().join("bad.py"), "  # ", &found, is_expected)?;
    run(Command::new(installed.join("bin/python")).args(["-B", "run.py"]), folder.path())
}

/// A folder with the applications of a language.
fn sources(ending: &str) -> Result<TempDir, Failed> {
    let folder = tempfile::tempdir()?;
    for entry in fs::read_dir(SOURCES)? {
        let path = entry?.path();
        let is_setting = path.file_name().is_some_and(|name| name == "tsconfig.json");
        if is_setting || path.extension().is_some_and(|found| found == ending) {
            fs::copy(&path, folder.path().join(path.file_name().unwrap_or_default()))?;
        }
    }
    Ok(folder)
}

/// Writes the types of each policy, and then checks that they are up to date.
fn generate(folder: &Path, language: &str, ending: &str) -> Result<(), Failed> {
    for (module, policy) in POLICIES {
        let out: PathBuf = folder.join(format!("{module}.{ending}"));
        for check in [&[][..], &["--check"]] {
            let mut generate = portcullis(folder);
            generate.args(["generate", language]).arg(Path::new(ROOT).join(policy));
            outputs(generate.arg("--out").arg(&out).args(check))?;
        }
    }
    Ok(())
}

/// Compares the errors that were found in a file with those that its lines name after a mark.
fn compare(
    file: &Path,
    mark: &str,
    found: &[(usize, String)],
    is_expected: impl Fn(&str, &str) -> bool,
) -> Result<(), Failed> {
    let text = fs::read_to_string(file)?;
    let lines = text.lines().enumerate();
    let expected: Vec<(usize, &str)> =
        lines.filter_map(|(at, line)| Some((at + 1, line.rsplit_once(mark)?.1))).collect();
    if expected.len() < 20 {
        return Err(format!("{} names {} errors", file.display(), expected.len()).into());
    }
    let mut complaints: Vec<String> = Vec::new();
    for (line, expected) in &expected {
        if !found.iter().any(|(at, error)| at == line && is_expected(error, expected)) {
            complaints.push(format!("line {line} lacks the error {expected}"));
        }
    }
    let lines: BTreeSet<usize> = expected.iter().map(|(line, _)| *line).collect();
    let others = found.iter().filter(|(line, _)| !lines.contains(line));
    complaints.extend(others.map(|(line, error)| format!("line {line} has an error: {error}")));
    if complaints.is_empty() { Ok(()) } else { Err(format!("{}\n{found:#?}", complaints.join("\n")).into()) }
}

/// Runs an application against a service with the policy.
fn run(command: &mut Command, folder: &Path) -> Result<(), Failed> {
    let service = serve_with(tempfile::tempdir()?, &[], &["--policy", POLICY])?;
    command.env("OSO_URL", &service.caller.url).env("OSO_AUTH", DEVELOPMENT_KEY).current_dir(folder);
    outputs(command)?;
    Ok(())
}

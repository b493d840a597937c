//! The files in docs/operations: they name what there is, and systemd accepts its own.

use portcullis::config::Config;
use portcullis_testkit::program::portcullis;
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join("docs/operations").join(name)).unwrap()
}

/// The words of a text that look like our variables.
fn variables(text: &str) -> BTreeSet<&str> {
    let is_part = |c: char| c.is_ascii_uppercase() || c == '_';
    text.split(|c| !is_part(c)).filter(|word| word.starts_with("PORTCULLIS_")).collect()
}

#[test]
fn the_example_of_a_file_holds_every_setting_with_its_default() {
    let example = read("portcullis.toml");
    let folder = tempfile::tempdir().unwrap();
    let settings: Vec<&str> = example.lines().filter_map(|line| line.strip_prefix('#')).collect();
    let settings: Vec<&str> = settings.into_iter().filter(|line| !line.starts_with(' ')).collect();
    fs::write(folder.path().join("all.toml"), settings.join("\n")).unwrap();
    fs::write(folder.path().join("example.toml"), &example).unwrap();
    let show = |file: &str| -> Json {
        let shown =
            portcullis(folder.path()).args(["config", "show", "--json", "--config", file]).output().unwrap();
        assert!(shown.status.success(), "{}", String::from_utf8_lossy(&shown.stderr));
        serde_json::from_slice(&shown.stdout).unwrap()
    };
    let (all, defaults) = (show("all.toml"), show("example.toml"));
    for setting in Config::SETTINGS {
        let (shown, default) = (&all[setting.name], &defaults[setting.name]);
        assert_eq!(
            (&shown["from"], &default["from"]),
            (&"file".into(), &"default".into()),
            "{}",
            setting.name
        );
        assert!(
            shown["value"] == default["value"] || default["value"].is_null(),
            "{}: {shown}",
            setting.name
        );
    }
}

#[test]
fn every_variable_that_is_named_is_one_of_a_setting() {
    let known: BTreeSet<String> = Config::SETTINGS
        .iter()
        .map(portcullis::config::Setting::variable)
        .chain(["PORTCULLIS_CONFIG".into()])
        .collect();
    for file in ["README.md", "Dockerfile", "portcullis.service"] {
        let text = read(file);
        let strangers: Vec<&str> =
            variables(&text).into_iter().filter(|name| !known.contains(*name)).collect();
        assert_eq!(strangers, Vec::<&str>::new(), "{file}");
    }
}

/// What a `COPY` line of the Dockerfile takes from the repository, and where it puts it.
fn copied(line: &str) -> Vec<(&str, PathBuf)> {
    let words: Vec<&str> = line.split(' ').collect();
    let (to, sources) = words.split_last().unwrap();
    let place = |source: &str| match sources.len() {
        1 if !to.ends_with('/') => PathBuf::from(to),
        _ => Path::new(to).join(Path::new(source).file_name().unwrap()),
    };
    sources.iter().map(|source| (*source, place(source))).collect()
}

/// The programs, libraries, tests and benchmarks of the workspace that Cargo finds in a folder.
fn targets(workspace: &Path) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--offline", "--locked", "--no-deps", "--format-version", "1"])
        .current_dir(workspace)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Json = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata.get("packages").and_then(Json::as_array).unwrap();
    let named =
        |package: &Json, target: &Json| format!("{} {} {}", package["name"], target["kind"], target["name"]);
    let of_package = |package: &Json| -> Vec<String> {
        package["targets"].as_array().unwrap().iter().map(|target| named(package, target)).collect()
    };
    packages.iter().flat_map(of_package).collect()
}

/// Cargo finds all of the workspace in what the Dockerfile copies.
#[test]
fn the_image_is_made_from_what_there_is() {
    let text = read("Dockerfile");
    let lines =
        text.lines().filter_map(|line| line.strip_prefix("COPY ")).filter(|rest| !rest.starts_with("--"));
    let image = tempfile::tempdir().unwrap();
    for (source, place) in lines.flat_map(copied) {
        assert!(root().join(source).exists(), "{source} is not in the repository");
        let place = image.path().join(place);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(root().join(source), place).unwrap();
    }
    // Cargo's metadata leaves out a target without its file, but a build fails.
    assert_eq!(targets(image.path()), targets(root()));
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let version = manifest.split("rust-version = \"").nth(1).unwrap().split('"').next().unwrap();
    assert!(
        text.contains(&format!("FROM rust:{version}-")),
        "the image has the Rust that Cargo.toml asks for"
    );
    assert!(text.contains("\nUSER portcullis\n"), "it does not run as root");
}

/// The unit with a program that exists here.
fn unit() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("portcullis.service");
    let text = read("portcullis.service");
    assert!(text.contains("ExecStart=/usr/local/bin/portcullis serve --config"), "{text}");
    let program = portcullis_testkit::program::path();
    fs::write(&path, text.replace("/usr/local/bin/portcullis", program.to_str().unwrap())).unwrap();
    (folder, path)
}

fn analyze(args: &[&str], unit: &Path) -> (bool, String) {
    let output = Command::new("systemd-analyze").args(args).arg(unit).output();
    let output = output.unwrap_or_else(|error| panic!("systemd-analyze: {error}, run scripts/setup"));
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.success(), text)
}

#[test]
fn systemd_accepts_the_unit_and_finds_it_well_guarded() {
    let (_folder, unit) = unit();
    let (good, text) = analyze(&["verify"], &unit);
    assert!(good && !text.contains("portcullis.service:"), "{text}");
    // From 0, guarded against everything, to 100: this unit is at 12, most services above 80.
    let (good, text) = analyze(&["security", "--offline=yes", "--threshold=20", "--no-pager"], &unit);
    assert!(good, "{text}");
}

//! The studio: journeys of a person in a real browser through the real program, what a hostile page or client
//! is refused, and whether the page in the program is what its sources make.
//!
//! One trial per file of journeys. Each gets a service of its own on a free port, and a browser. A journey
//! that fails leaves a picture of the page in `target/studio`, and prints where.
//!
//! ```text
//! cargo test --test studio -- answers                        one file
//! STUDIO_DIST=/tmp/dist cargo test --test studio             with a page that is not in the program yet
//! ```

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a trial that cannot go on should stop where it is"
)]

mod attacks;
mod bundle;
mod client;
mod decisions;

use libtest_mimic::{Arguments, Failed, Trial};
use portcullis::http::DEVELOPMENT_KEY;
use portcullis_testkit::program::{Service, portcullis};
use portcullis_testkit::tools::{has_npm_packages, outputs};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// How long a file of journeys may take, in seconds; many times what it needs.
const MOST_SECONDS: &str = "240";

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // A browser alone keeps both processors of a small machine busy, and journeys measure time.
    arguments.test_threads = arguments.test_threads.or(Some(2));
    let journeys = journeys().into_iter().map(|file| {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Trial::test(format!("journeys_{name}"), move || run(&file))
    });
    let trials = journeys
        .chain(attacks::trials())
        .chain(decisions::trials())
        .chain([Trial::test("bundle", bundle::is_fresh)])
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The folder of these tests.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/studio")
}

/// The files of journeys, by name.
fn journeys() -> Vec<PathBuf> {
    let files = fs::read_dir(folder().join("journeys")).unwrap();
    let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "js"));
    files.sort();
    files
}

/// A service in development mode with a read-only key, and the link that it printed.
fn serve() -> Result<(Service, String, String), Failed> {
    let folder = tempfile::tempdir()?;
    let mut create = portcullis(folder.path());
    create.args(["keys", "create", "--name", "reader", "--read-only", "--data", "d"]);
    let reader = outputs(&mut create)?.trim().to_owned();
    let mut command = portcullis(folder.path());
    command.env("PORTCULLIS_LOG", "warn");
    let mut service = Service::develop_as(command, folder, "d", &[])?;
    let line = service.program.prints("the studio is on");
    let link = line.split_whitespace().last().unwrap_or_default().to_owned();
    Ok((service, link, reader))
}

/// Runs a file of journeys.
fn run(file: &Path) -> Result<(), Failed> {
    has_npm_packages(&folder())?;
    let (service, link, reader) = serve()?;
    let shots = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/studio");
    let mut command = Command::new("timeout");
    command.args([MOST_SECONDS, "node"]).arg(file).current_dir(folder());
    command
        .env("STUDIO_URL", &service.caller.url)
        .env("STUDIO_LINK", link)
        .env("STUDIO_KEY", DEVELOPMENT_KEY)
        .env("STUDIO_READER", reader)
        .env("STUDIO_PID", service.program.id().to_string())
        .env("STUDIO_SHOTS", shots);
    let printed = outputs(&mut command)?;
    print!("{printed}");
    Ok(())
}

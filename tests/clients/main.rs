//! Runs the official clients, as they come from their registries, against a real server and a real database;
//! the types that are generated for them, see [`typed`]; and the language server with third-party clients,
//! see [`editors`].
//!
//! One trial a version of a client. Each gets servers of its own on free ports, a fresh database with the
//! tables of `tests/clients/schema.sql`, and runs as a process that finds them in its environment. What it
//! prints is shown if it fails. `tests/clients/README.md` says how a suite is built, and how to run one by
//! hand.
//!
//! ```text
//! cargo test --test clients -- node_2_6_0       one client
//! ```

mod editors;
mod typed;

use libtest_mimic::{Arguments, Failed, Trial};
use portcullis::http::DEVELOPMENT_KEY;
use portcullis_testkit::cluster::{Cluster, PROGRAMS};
use portcullis_testkit::program::{Service, portcullis};
use portcullis_testkit::tools::{has_npm_packages, is_installed, outputs};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::LazyLock;
use tempfile::TempDir;

/// How long a suite may take, in seconds; many times what it needs.
const MOST_SECONDS: &str = "300";

/// The clients' suites, each the name of its trial with what runs it.
const SUITES: &[(&str, Runner)] = &[
    ("node_2_6_0", Runner::Node { file: "oso-cloud-2.test.js" }),
    ("node_1_6_1", Runner::Node { file: "oso-cloud-1.test.js" }),
    // The client's own suite, which is in its package.
    ("node_1_6_1_shipped", Runner::Jest { n_tests: 31 }),
    ("python_2_6_0", Runner::Python { folder: "oso-cloud-2.6.0" }),
    ("python_1_5_1", Runner::Python { folder: "oso-cloud-1.5.1" }),
    ("python_0_9_0", Runner::Python { folder: "oso-cloud-0.9.0" }),
    ("sqlalchemy_0_1_0", Runner::Python { folder: "sqlalchemy-oso-cloud-0.1.0" }),
];

/// Little memory, as the tables have a handful of rows.
static DATABASES: LazyLock<Result<Cluster, String>> =
    LazyLock::new(|| Cluster::start(&["shared_buffers=16MB", "max_connections=20"]));

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trials = SUITES.iter().map(|(name, runner)| Trial::test(*name, || run(name, runner)));
    let trials = trials.chain(editors::trials()).chain(typed::trials()).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// How a suite is run. Both kinds are installed by `scripts/setup`.
#[derive(Clone, Copy, Debug)]
enum Runner {
    /// A file of `tests/clients/node`, with the packages of the lock file there.
    Node { file: &'static str },
    /// The tests that `package.json` names to jest, as many as must pass.
    Jest { n_tests: usize },
    /// A folder of `tests/clients/python`, with the packages of its `requirements.txt`.
    Python { folder: &'static str },
}

impl Runner {
    /// The command that runs the suite, if what it needs is there and is what is asked for.
    fn command(self) -> Result<Command, String> {
        let clients = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients");
        let mut command = Command::new("timeout");
        command.arg(MOST_SECONDS);
        match self {
            Self::Node { file } => {
                command.args(["node", file]).current_dir(installed_node(&clients)?);
            }
            Self::Jest { .. } => {
                command.args(["node", "node_modules/jest/bin/jest.js", "--ci", "--runInBand", "--json"]);
                command.current_dir(installed_node(&clients)?);
            }
            Self::Python { folder } => {
                let installed = installed_python(folder);
                let folder = clients.join("python").join(folder);
                is_installed(&folder.join("requirements.txt"), &installed.join(".installed"))?;
                command.arg(installed.join("bin/python"));
                command.args(["-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "."]).current_dir(folder);
            }
        }
        Ok(command)
    }

    /// Whether what a suite printed says that all its tests were run.
    fn is_complete(self, printed: &str) -> bool {
        match self {
            // Both look themselves whether a method was left out.
            Self::Node { .. } | Self::Python { .. } => true,
            Self::Jest { n_tests } => ["numPassedTests", "numTotalTests"]
                .iter()
                .all(|count| printed.contains(&format!("\"{count}\":{n_tests},"))),
        }
    }
}

/// The folder of the suites in Node, if their packages are there.
fn installed_node(clients: &Path) -> Result<PathBuf, String> {
    let folder = clients.join("node");
    has_npm_packages(&folder)?;
    Ok(folder)
}

/// The virtual environment of a suite in Python.
fn installed_python(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("target/venv").join(folder)
}

fn run(name: &str, runner: &Runner) -> Result<(), Failed> {
    let mut command = runner.command()?;
    let databases = DATABASES.as_ref().map_err(Clone::clone)?;
    let database = create(databases, name)?;
    let folder = tempfile::tempdir()?;
    let reader = read_only_key(folder.path())?;
    let service = serve(folder, &[])?;
    let patient = [("PORTCULLIS_BODY_TIME", "600"), ("PORTCULLIS_REQUEST_TIME", "600")];
    let single = [&[("PORTCULLIS_MAX_REQUESTS", "1")], &patient[..]].concat();
    let busy = serve(tempfile::tempdir()?, &single)?;
    let _only_place = busy.caller.take_only_place(DEVELOPMENT_KEY);
    let slow = serve(tempfile::tempdir()?, &[("PORTCULLIS_RATE_LIMIT", "1")])?;
    command
        .env("OSO_URL", &service.caller.url)
        .env("OSO_AUTH", DEVELOPMENT_KEY)
        .env("READ_ONLY_AUTH", reader)
        .env("BUSY_URL", &busy.caller.url)
        .env("SLOW_URL", &slow.caller.url)
        .env("PGHOST", &databases.folder)
        .env("PGUSER", "postgres")
        .env("PGDATABASE", database);
    let printed = outputs(&mut command).map_err(|output| {
        Failed::from(format!("{output}\nthe service's log:\n{}", service.program.logged()))
    })?;
    if runner.is_complete(&printed) {
        Ok(())
    } else {
        Err(format!("{runner:?}: not all tests ran:\n{printed}").into())
    }
}

/// A database with the application's tables.
fn create(databases: &Cluster, name: &str) -> Result<String, String> {
    let tool = |name: &str| {
        let mut command = Command::new(Path::new(&*PROGRAMS).join(name));
        command.args(["-h", &databases.folder, "-U", "postgres"]);
        command
    };
    outputs(tool("createdb").arg(name))?;
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/schema.sql");
    outputs(tool("psql").args(["-q", "-v", "ON_ERROR_STOP=1", "-d", name, "-f", schema]))?;
    Ok(name.to_owned())
}

/// A key that may ask and change nothing, made before a server has the folder.
fn read_only_key(data: &Path) -> Result<String, String> {
    let mut create = portcullis(data);
    create.args(["keys", "create", "--name", "reader", "--read-only", "--data"]).arg(data);
    Ok(outputs(&mut create)?.trim().to_owned())
}

/// Starts a service in development mode with these settings.
fn serve(folder: TempDir, settings: &[(&str, &str)]) -> Result<Service, String> {
    serve_with(folder, settings, &[])
}

/// The same with further arguments.
fn serve_with(folder: TempDir, settings: &[(&str, &str)], args: &[&str]) -> Result<Service, String> {
    let mut command = portcullis(folder.path());
    command.envs(settings.iter().copied()).env("PORTCULLIS_LOG", "warn");
    Service::develop_as(command, folder, ".", args)
}

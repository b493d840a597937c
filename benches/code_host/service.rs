//! The program as a process beside the benchmark.

use portcullis_testkit::program::{self, Program, portcullis};
use std::net::SocketAddr;
use std::path::Path;
use tempfile::TempDir;

/// A running service; it ends with this at the latest.
pub(crate) struct Service {
    pub(crate) address: SocketAddr,
    inner: program::Service,
    /// Holds its log.
    _folder: TempDir,
}

/// What a process keeps in memory, in megabytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Memory {
    /// For itself.
    pub(crate) own: f64,
    /// Mapped pages of files, which the system takes back when it needs them: the store's and the program's.
    pub(crate) mapped: f64,
}

impl Service {
    /// Starts it with the development key, and waits until it listens.
    pub(crate) fn start(data: &Path) -> Self {
        Self::start_with(data, &[])
    }

    /// The same, with more arguments.
    pub(crate) fn start_with(data: &Path, arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = portcullis(folder.path());
        command.env("PORTCULLIS_LOG", "warn");
        let data = std::path::absolute(data).unwrap();
        let arguments = [&["--dev"], arguments].concat();
        let started = Program::spawn_as(command, folder.path(), data.to_str().unwrap(), &arguments);
        let inner = started.answering().unwrap();
        let address = inner.caller.url.strip_prefix("http://").unwrap().parse().unwrap();
        Self { address, inner, _folder: folder }
    }

    /// The number of the process.
    pub(crate) fn process(&self) -> u32 {
        self.inner.program.id()
    }

    /// Asks it to stop, and waits until its files are closed.
    pub(crate) fn stop(self) {
        self.inner.stop();
    }
}

impl Memory {
    /// That of a process now.
    pub(crate) fn of(process: u32) -> Self {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        let megabytes = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1_024.0
        };
        Self { own: megabytes("RssAnon:"), mapped: megabytes("RssFile:") }
    }
}

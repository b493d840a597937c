//! The program as a process next to the benchmark, and the memory it takes.

use portcullis_testkit::program::{Service, portcullis};
use std::path::Path;

/// Starts a service in development mode over a data folder, and waits until it answers.
pub(crate) fn serve(data: &Path, arguments: &[&str]) -> Service {
    let folder = tempfile::tempdir().unwrap();
    let mut command = portcullis(folder.path());
    command.env("PORTCULLIS_LOG", "warn");
    let data = std::path::absolute(data).unwrap();
    Service::develop_as(command, folder, data.to_str().unwrap(), arguments).unwrap()
}

/// What a process keeps in memory, in megabytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Memory {
    /// For itself.
    pub(crate) own: f64,
    /// Mapped pages of files, which the system takes back when it needs them: the store's and the program's.
    pub(crate) mapped: f64,
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

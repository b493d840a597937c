//! The program itself as a process beside the benchmark, over a folder of its own.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

/// A running service; it is told to end, or ends with this.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) address: SocketAddr,
    child: Child,
    /// What it prints; it should find somebody who reads.
    _told: BufReader<ChildStdout>,
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
        let mut command = Command::new(env!("CARGO_BIN_EXE_portcullis"));
        command.args(["serve", "--dev", "--listen", "127.0.0.1:0", "--data"]).arg(data);
        command.env("PORTCULLIS_LOG", "warn").stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut welcome = String::new();
        let mut told = BufReader::new(child.stdout.take().unwrap());
        told.read_line(&mut welcome).unwrap();
        let address = welcome.split("http://").nth(1).unwrap().split('/').next().unwrap().parse().unwrap();
        Self { address, child, _told: told }
    }

    /// The number of the process.
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Tells it to end, and waits until its files are closed.
    pub(crate) fn stop(mut self) {
        let told = Command::new("kill").arg(self.process().to_string()).status().unwrap();
        assert!(told.success(), "kill: {told}");
        let ended = self.child.wait().unwrap();
        assert!(ended.success(), "the service ended with {ended}");
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // After `stop` both find a process that has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
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

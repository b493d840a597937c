//! Three PostgreSQL servers under Patroni, which promotes a standby when the primary is lost. They end with
//! the process that started them.
//!
//! Patroni agrees by etcd on who is the primary; here it notices within five seconds that one is gone. A
//! shell watches over all of them, as over a [`Cluster`](crate::cluster::Cluster).

use crate::cluster::{PROGRAMS, children, signal, unprivileged};
use crate::ports::free_port;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ChildStdin, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How many servers there are.
pub const MEMBERS: usize = 3;

/// How long a server may take to note that it runs.
const STARTING: Duration = Duration::from_secs(20);

/// Starts etcd and the members, and then each member again whose number is on a line of its input.
const SCRIPT: &str = r#"
set -eu
folder=$(mktemp -d /tmp/portcullis-patroni.XXXXXX)
end() {
  for file in "$folder"/*.pid "$folder"/*/data/postmaster.pid; do
    if [ -f "$file" ]; then
      process=$(head -n 1 "$file")
      if grep -q "$folder" "/proc/$process/cmdline" 2>/dev/null; then kill -KILL "$process"; fi
    fi
  done
  for attempt in 1 2 3 4 5 6 7 8 9 10; do rm -rf "$folder" 2>/dev/null && break; sleep 0.1; done
}
trap end EXIT
cd "$folder"
etcd --data-dir "$folder/etcd" --unsafe-no-fsync \
  --listen-client-urls "http://127.0.0.1:$CLIENTS" --advertise-client-urls "http://127.0.0.1:$CLIENTS" \
  --listen-peer-urls "http://127.0.0.1:$PEERS" --initial-advertise-peer-urls "http://127.0.0.1:$PEERS" \
  --initial-cluster "default=http://127.0.0.1:$PEERS" >"$folder/etcd.log" 2>&1 </dev/null &
echo $! >"$folder/etcd.pid"
start() {
  patroni "$folder/$1.yml" >>"$folder/$1.log" 2>&1 </dev/null &
  echo $! >"$folder/$1.pid"
}
member=0
while read -r port api && [ "$port" != "end" ]; do
  mkdir "$folder/$member"
  cat >"$folder/$member.yml" <<TEXT
scope: portcullis
name: member$member
restapi: {listen: "127.0.0.1:$api", connect_address: "127.0.0.1:$api"}
etcd3: {hosts: "127.0.0.1:$CLIENTS"}
bootstrap:
  dcs:
    ttl: 5
    loop_wait: 1
    retry_timeout: 2
    synchronous_mode: true
    postgresql:
      use_pg_rewind: true
      parameters: {wal_log_hints: "on", synchronous_commit: remote_apply}
  initdb: [{encoding: UTF8}, {locale: C.UTF-8}, no-sync]
postgresql:
  listen: "127.0.0.1:$port"
  connect_address: "127.0.0.1:$port"
  data_dir: $folder/$member/data
  bin_dir: $0
  pgpass: $folder/$member/pgpass
  authentication:
    superuser: {username: postgres}
    replication: {username: replicator}
    rewind: {username: postgres}
  parameters: {unix_socket_directories: $folder/$member, shared_buffers: 16MB, fsync: "off", autovacuum: "off"}
  pg_hba: [local all all trust, host all all 127.0.0.1/32 trust, host replication all 127.0.0.1/32 trust]
TEXT
  start "$member"
  member=$((member + 1))
done
echo "folder $folder"
while read -r member; do start "$member"; done
"#;

/// Running members, each with a superuser `postgres`.
pub struct Patroni {
    /// The ports of the members' servers.
    pub ports: [u16; MEMBERS],
    folder: String,
    /// They run until this closes.
    orders: ChildStdin,
}

impl Patroni {
    /// Starts etcd and all members. One of them becomes the primary within seconds, and at least one other a
    /// standby that must confirm each commit.
    pub fn start() -> Result<Self, String> {
        for program in ["patroni", "etcd"] {
            if !Path::new("/usr/bin").join(program).exists() {
                return Err(format!("no {program}: run scripts/setup"));
            }
        }
        let mut command = unprivileged()?;
        command.args(["-c", SCRIPT, &PROGRAMS]).current_dir("/");
        command.env("CLIENTS", free_port().to_string()).env("PEERS", free_port().to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut shell = command.spawn().map_err(|error| format!("Patroni does not start: {error}"))?;
        let mut orders = shell.stdin.take().ok_or("the shell has no input")?;
        let ports = [(); MEMBERS].map(|()| free_port());
        let members = ports.map(|port| format!("{port} {}\n", free_port())).concat();
        let written = orders.write_all(format!("{members}end\n").as_bytes());
        written.map_err(|error| format!("Patroni does not start: {error}"))?;
        let output = BufReader::new(shell.stdout.take().ok_or("the shell has no output")?);
        let first = output.lines().map_while(Result::ok).next().unwrap_or_default();
        let folder =
            first.strip_prefix("folder ").ok_or_else(|| format!("Patroni does not start: {first}"))?;
        Ok(Self { ports, folder: folder.to_owned(), orders })
    }

    /// The address with all members, for a store.
    pub fn url(&self) -> String {
        let hosts = self.ports.map(|port| format!("127.0.0.1:{port}")).join(",");
        format!("postgres://postgres@{hosts}/postgres?connect_timeout=1&target_session_attrs=read-write")
    }

    /// Ends all processes of a member at once, Patroni's and PostgreSQL's, as if its machine had lost power.
    pub fn kill(&self, member: usize) -> Result<(), String> {
        let patroni = self.process(&format!("{member}.pid"))?;
        let postmaster = self.process(&format!("{member}/data/postmaster.pid"))?;
        // First of all: they would end or replace the others.
        signal("STOP", &[patroni, postmaster])?;
        let mut all = children(postmaster)?;
        all.extend([postmaster, patroni]);
        signal("KILL", &all)
    }

    /// Starts a member again that was killed.
    pub fn start_again(&mut self, member: usize) -> Result<(), String> {
        writeln!(self.orders, "{member}").map_err(|error| format!("member {member}: {error}"))
    }

    /// The last lines of the logs, for a test that fails.
    pub fn logs(&self) -> String {
        let log =
            |member: usize| fs::read_to_string(format!("{}/{member}.log", self.folder)).unwrap_or_default();
        let part = |member: usize| {
            let log = log(member);
            let last: Vec<&str> = log.lines().rev().take(12).collect();
            format!("member {member}, latest first:\n{}\n", last.join("\n"))
        };
        (0..MEMBERS).map(part).collect::<Vec<_>>().concat()
    }

    fn process(&self, file: &str) -> Result<u32, String> {
        let (file, began) = (format!("{}/{file}", self.folder), Instant::now());
        loop {
            let text = fs::read_to_string(&file).unwrap_or_default();
            match text.lines().next().and_then(|line| line.parse().ok()) {
                Some(process) => return Ok(process),
                None if began.elapsed() > STARTING => return Err(format!("{file} has no process")),
                None => sleep(Duration::from_millis(50)),
            }
        }
    }
}

//! A private PostgreSQL server, which ends with the process that started it.
//!
//! Its data and its socket are in a folder of its own. A shell watches over it: when the pipe to the shell
//! closes, however the process ended, the shell stops the server and removes the folder.
//! PostgreSQL refuses to run as root, so for root it runs as the user that the package made.
//!
//! Text sorts by a language's rules here, so that a statement which forgets to ask for bytes shows; by bytes
//! where the server was built without such rules.

use super::ports::at_free_port;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{LazyLock, Mutex, PoisonError};

/// Where the server and its tools are: PostgreSQL 15 of the package, or another one whose folder is in the
/// variable `PORTCULLIS_TEST_POSTGRES`.
pub static PROGRAMS: LazyLock<String> = LazyLock::new(|| {
    std::env::var("PORTCULLIS_TEST_POSTGRES").unwrap_or_else(|_| "/usr/lib/postgresql/15/bin".to_owned())
});

/// Where a [limited disk](Cluster::on_small_disk) is. Only the server sees it.
pub const SMALL_DISK: &str = "/mnt/portcullis";

/// Makes a cluster, serves it, and does what its input orders until that ends. It is in the folder that
/// `PLACE` names, where a socket's path is not long and every user may write. Its memory is bounded: a
/// statement that takes gigabytes to plan is a failure, and the machine has other things to do.
const SCRIPT: &str = r#"
set -eu
ulimit -v 6000000
folder=$(mktemp -d "$PLACE/portcullis-postgres.XXXXXX")
trap 'rm -rf "$folder"' EXIT
# The process that waits for an answer may have exited.
trap '' PIPE
if [ -n "${DISK:-}" ]; then mkdir "$DISK"; fi
wal=
if [ "${ON_DISK:-}" = log ]; then wal="--waldir=$DISK/wal --wal-segsize=1"; fi
language="--locale-provider=icu --icu-locale=en-US"
case "$("$0/pg_config" --configure)" in *--without-icu*) language= ;; esac
if [ -n "$PRIMARY" ]; then
  "$0/pg_basebackup" -d "$PRIMARY" -D "$folder/data" ${FOLLOWS:+-R} -c fast --no-sync >"$folder/log" 2>&1
else
  "$0/initdb" -D "$folder/data" -U postgres -A trust -E UTF8 --locale=C.UTF-8 $language $wal \
    --no-sync >"$folder/log" 2>&1
fi || { cat "$folder/log"; exit 1; }
serve() {
  "$0/postgres" -D "$folder/data" -k "$folder" -c listen_addresses= -c fsync=off -c full_page_writes=off \
    -c synchronous_commit=off -c autovacuum=off -c jit=off "$@" >>"$folder/log" 2>&1 </dev/null &
  server=$!
  until "$0/pg_isready" -q -h "$folder"; do
    kill -0 "$server" || { cat "$folder/log"; exit 1; }
    sleep 0.05
  done
}
serve "$@"
echo "folder $folder"
while read -r order; do
  case $order in
    fill) cat /dev/zero >"$DISK/ballast" 2>/dev/null || true ;;
    free) rm "$DISK/ballast" ;;
    serve)
      until "$0/pg_isready" -q -h "$folder"; do
        if ! kill -0 "$server" 2>/dev/null; then serve "$@"; fi
        sleep 0.05
      done
      ;;
  esac
  echo "done" || true
done
kill -INT "$server"
wait "$server" || true
"#;

/// A running server with a superuser `postgres` and a database of the same name.
pub struct Cluster {
    /// The folder with its socket.
    pub folder: String,
    shell: Mutex<Shell>,
}

/// The shell that watches over a server, which runs until its input closes.
struct Shell {
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Cluster {
    /// Starts a server with these settings, and returns when it takes connections.
    pub fn start(settings: &[&str]) -> Result<Self, String> {
        Self::start_in("/tmp", settings)
    }

    /// The same, with its data in a folder of its own inside this one.
    pub fn start_in(place: &str, settings: &[&str]) -> Result<Self, String> {
        Self::spawn(unprivileged()?, place, None, None, settings)
    }

    /// A server that also listens on a free port of 127.0.0.1, and the port.
    pub fn with_port(settings: &[&str]) -> Result<(Self, u16), String> {
        at_free_port(|port| Self::spawn_at(unprivileged()?, port, None, settings))
    }

    /// Fills the small disk.
    pub fn fill_disk(&self) -> Result<(), String> {
        self.order("fill")
    }

    /// Makes room on it again.
    pub fn free_disk(&self) -> Result<(), String> {
        self.order("free")
    }

    /// Waits until the server runs, and starts it if it has ended.
    pub fn serve_again(&self) -> Result<(), String> {
        self.order("serve")
    }

    fn order(&self, order: &str) -> Result<(), String> {
        let mut shell = self.shell.lock().unwrap_or_else(PoisonError::into_inner);
        writeln!(shell.orders, "{order}").map_err(|error| format!("{order}: {error}"))?;
        let mut answer = String::new();
        while shell.answers.read_line(&mut answer).map_err(|error| format!("{order}: {error}"))? > 0 {
            if answer.ends_with("done\n") {
                return Ok(());
            }
        }
        Err(format!("{order}: {answer}"))
    }

    /// A server with a port and a disk of so many kibibytes at [`SMALL_DISK`], which the server may use for
    /// tablespaces; `None` if [`WITHOUT_DISKS`] says that there is none.
    pub fn on_small_disk(kibibytes: u64, settings: &[&str]) -> Result<Option<(Self, u16)>, String> {
        Self::with_disk_for("", kibibytes, settings)
    }

    /// The same, with its write-ahead log on that disk.
    pub fn with_small_log(kibibytes: u64, settings: &[&str]) -> Result<Option<(Self, u16)>, String> {
        Self::with_disk_for("log", kibibytes, settings)
    }

    fn with_disk_for(
        content: &str,
        kibibytes: u64,
        settings: &[&str],
    ) -> Result<Option<(Self, u16)>, String> {
        let started = at_free_port(|port| {
            let Some(mut command) = with_disk(kibibytes)? else { return Ok(None) };
            command.env("ON_DISK", content);
            Self::spawn_at(command, port, None, settings).map(Some)
        });
        let (cluster, port) = started?;
        Ok(cluster.map(|cluster| (cluster, port)))
    }

    /// A standby of the server at `primary`, a port of 127.0.0.1, and the port on which it listens.
    pub fn standby_of(primary: u16, settings: &[&str]) -> Result<(Self, u16), String> {
        at_free_port(|port| {
            let mut command = unprivileged()?;
            command.env("FOLLOWS", "yes");
            Self::spawn_at(command, port, Some(primary), settings)
        })
    }

    /// A server of its own with a backup of the one at `primary`, and the port on which it listens.
    pub fn copy_of(primary: u16, settings: &[&str]) -> Result<(Self, u16), String> {
        at_free_port(|port| Self::spawn_at(unprivileged()?, port, Some(primary), settings))
    }

    /// Ends all processes of the server at once, as a power failure would.
    pub fn kill(&self) -> Result<(), String> {
        let postmaster = self.postmaster()?;
        // First of all: it would end or replace the others.
        signal("STOP", &[postmaster])?;
        let mut all = children(postmaster)?;
        all.push(postmaster);
        signal("KILL", &all)
    }

    /// Stops the processes that send the log to standbys, until the server is [killed](Self::kill).
    pub fn stop_sending(&self) -> Result<(), String> {
        let is_sender = |process: &u32| {
            fs::read(format!("/proc/{process}/cmdline"))
                .is_ok_and(|line| line.starts_with(b"postgres: walsender"))
        };
        let senders: Vec<u32> = children(self.postmaster()?)?.into_iter().filter(is_sender).collect();
        if senders.is_empty() {
            return Err("the server has no standby".into());
        }
        signal("STOP", &senders)
    }

    fn spawn_at(
        command: Command,
        port: u16,
        primary: Option<u16>,
        settings: &[&str],
    ) -> Result<Self, String> {
        let settings = [&["listen_addresses=127.0.0.1"], settings].concat();
        Self::spawn(command, "/tmp", Some(port), primary, &settings)
    }

    fn postmaster(&self) -> Result<u32, String> {
        let file = format!("{}/data/postmaster.pid", self.folder);
        let text = fs::read_to_string(&file).map_err(|error| format!("{file}: {error}"))?;
        let process = text.lines().next().and_then(|line| line.parse().ok());
        process.ok_or_else(|| format!("{file} has no process"))
    }

    fn spawn(
        mut command: Command,
        place: &str,
        port: Option<u16>,
        primary: Option<u16>,
        settings: &[&str],
    ) -> Result<Self, String> {
        if !Path::new(&*PROGRAMS).join("postgres").exists() {
            return Err(format!("no PostgreSQL in {}: run scripts/setup", *PROGRAMS));
        }
        let primary = primary.map(|port| format!("host=127.0.0.1 port={port} user=postgres"));
        command.args(["-c", SCRIPT, &PROGRAMS]).env("PLACE", place).current_dir("/");
        command.env("PRIMARY", primary.unwrap_or_default());
        // The server and its tools read it.
        if let Some(port) = port {
            command.env("PGPORT", port.to_string());
        }
        for setting in settings {
            command.args(["-c", setting]);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut shell = command.spawn().map_err(|error| format!("PostgreSQL does not start: {error}"))?;
        let orders = shell.stdin.take().ok_or("the shell has no input")?;
        let mut answers = BufReader::new(shell.stdout.take().ok_or("the shell has no output")?);
        let mut output = String::new();
        let folder = (&mut answers)
            .lines()
            .map_while(Result::ok)
            .find_map(|line| {
                output.extend([&line, "\n"]);
                line.strip_prefix("folder ").map(str::to_owned)
            })
            .ok_or_else(|| format!("PostgreSQL does not start: {output}"))?;
        Ok(Self { folder, shell: Mutex::new(Shell { orders, answers }) })
    }
}

/// A shell of a user that may run PostgreSQL, in a group of its own: an interrupt from the keyboard is for
/// the process, which closes its pipe to the shell as it ends.
pub(crate) fn unprivileged() -> Result<Command, String> {
    let mut command = if is_root()? {
        let [program, args @ ..] = AS_POSTGRES;
        let mut command = Command::new(program);
        command.args(args).arg("sh");
        command
    } else {
        Command::new("sh")
    };
    command.process_group(0);
    Ok(command)
}

/// Becomes the user that the package made.
const AS_POSTGRES: [&str; 4] = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"];

/// Commands that give a process its own mounts, and then make it a user that may run PostgreSQL, for root and
/// for anybody else.
const WAYS: [(&[&str], &[&str]); 2] = [
    (&["--mount"], &AS_POSTGRES),
    (
        &["--user", "--map-root-user", "--mount"],
        &["unshare", "--user", "--map-user=1000", "--map-group=1000"],
    ),
];

/// Mounts a disk of `$0` kibibytes, and goes on with a command.
const MOUNT: &str = r#"
mount -t tmpfs -o "size=$0k,mode=777" tmpfs /mnt
exec "$@"
"#;

/// If this variable is set, tests of a full disk do nothing but say so: for containers in which no process
/// may mount one.
pub const WITHOUT_DISKS: &str = "PORTCULLIS_TEST_WITHOUT_DISKS";

/// As [`unprivileged`], with a disk at [`SMALL_DISK`] that only this command and its children see; `None` if
/// [`WITHOUT_DISKS`] is set.
///
/// # Errors
/// No process may mount one here.
fn with_disk(kibibytes: u64) -> Result<Option<Command>, String> {
    if std::env::var_os(WITHOUT_DISKS).is_some() {
        // Past what captures the output of tests that pass.
        let _ = writeln!(
            std::io::stderr(),
            "\n{WITHOUT_DISKS} is set: NOT TRIED: what happens when a disk is full"
        );
        return Ok(None);
    }
    let size = kibibytes.to_string();
    for (mounts, user) in WAYS {
        let way = |program: &[&str]| {
            let mut command = Command::new("unshare");
            command.args(mounts).args(["sh", "-ec", MOUNT, &size]).args(user).args(program);
            command
        };
        let tried = way(&["mkdir", SMALL_DISK]).output();
        if tried.map_err(|error| format!("unshare: {error}, run scripts/setup"))?.status.success() {
            let mut command = way(&["sh"]);
            command.process_group(0).env("DISK", SMALL_DISK);
            return Ok(Some(command));
        }
    }
    Err(format!(
        "no process may mount a disk here: run the tests as root with CAP_SYS_ADMIN (`docker run --cap-add \
         SYS_ADMIN`) or where users may have namespaces (`sysctl kernel.unprivileged_userns_clone=1`), or set \
         {WITHOUT_DISKS}=1 to leave these tests out"
    ))
}

/// The processes that a process has started.
pub(crate) fn children(process: u32) -> Result<Vec<u32>, String> {
    let file = format!("/proc/{process}/task/{process}/children");
    let text = fs::read_to_string(&file).map_err(|error| format!("{file}: {error}"))?;
    Ok(text.split_whitespace().filter_map(|child| child.parse().ok()).collect())
}

pub(crate) fn signal(name: &str, processes: &[u32]) -> Result<(), String> {
    let processes = processes.iter().map(ToString::to_string);
    let sent = Command::new("kill").arg(format!("-{name}")).args(processes).status();
    // Some may have ended meanwhile.
    sent.map(|_| ()).map_err(|error| format!("kill: {error}"))
}

fn is_root() -> Result<bool, String> {
    let id = Command::new("id").arg("-u").output().map_err(|error| format!("who runs this? {error}"))?;
    Ok(id.stdout == b"0\n")
}

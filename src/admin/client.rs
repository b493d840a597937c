//! The command line's side: sends one command and reads the reply.

use super::socket::{self, MAX_BYTES};
use super::{AdminCommand, AdminReply};
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// How long a reply may take. The service checks an environment before it opens it.
const REPLY_TIME: Duration = Duration::from_mins(1);

/// Sends a command to the service of a data folder; `None` if no service runs.
pub fn send(data: &Path, command: &AdminCommand) -> io::Result<Option<AdminReply>> {
    let folder = socket::folder(data);
    let opened = match File::open(&folder) {
        Ok(opened) => opened,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let stream = match UnixStream::connect(socket::path(&folder, &opened)?) {
        Ok(stream) => stream,
        // A service that was killed leaves its socket behind.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    stream.set_read_timeout(Some(REPLY_TIME))?;
    stream.set_write_timeout(Some(REPLY_TIME))?;
    let mut text = serde_json::to_string(command)?;
    text.push('\n');
    (&stream).write_all(text.as_bytes())?;
    let mut line = String::new();
    BufReader::new(stream.take(MAX_BYTES)).read_line(&mut line)?;
    if line.is_empty() {
        let text = "the service ended before it replied";
        return Err(io::Error::new(ErrorKind::UnexpectedEof, text));
    }
    Ok(Some(serde_json::from_str(&line)?))
}

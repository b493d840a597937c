//! The command's side: one order, one outcome.

use super::{MOST_BYTES, Order, Outcome, folder, socket};
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// How long an outcome may take: an environment that is opened is checked first.
const PATIENCE: Duration = Duration::from_mins(1);

/// Gives an order to the service of a data folder; `None` if there is none.
pub fn ask(data: &Path, order: &Order) -> io::Result<Option<Outcome>> {
    let folder = folder(data);
    let opened = match File::open(&folder) {
        Ok(opened) => opened,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let stream = match UnixStream::connect(socket(&folder, &opened)?) {
        Ok(stream) => stream,
        // A service that was killed leaves its socket behind.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut text = serde_json::to_string(order)?;
    text.push('\n');
    (&stream).write_all(text.as_bytes())?;
    let mut line = String::new();
    BufReader::new(stream.take(MOST_BYTES)).read_line(&mut line)?;
    if line.is_empty() {
        let text = "the service ended before it answered";
        return Err(io::Error::new(ErrorKind::UnexpectedEof, text));
    }
    Ok(Some(serde_json::from_str(&line)?))
}

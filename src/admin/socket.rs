//! Where the admin socket is.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// The largest command or reply in bytes: room for every key of an environment.
pub(super) const MAX_BYTES: u64 = 64 << 20;

/// The longest path that fits into a socket address on every system, in bytes.
const MAX_PATH: usize = 100;

/// The folder of the socket in a data folder.
pub(super) fn folder(data: &Path) -> PathBuf {
    data.join(".admin")
}

/// The path of the socket in its folder. A path that is too long goes through the open folder's descriptor.
pub(super) fn path(folder: &Path, opened: &File) -> io::Result<PathBuf> {
    let path = folder.join("socket");
    if path.as_os_str().len() <= MAX_PATH {
        return Ok(path);
    }
    let short = PathBuf::from(format!("/proc/self/fd/{}", opened.as_raw_fd()));
    if !short.is_dir() {
        let text = format!("the path `{}` is too long for a socket", path.display());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    Ok(short.join("socket"))
}

//! Why the system does not let a command use a file or reach a service, in words.

use std::io;

/// The system's reason, without the number of the error.
pub(in crate::cli) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split_once(" (os error ").map_or(text.clone(), |(reason, _)| reason.to_owned())
}

/// What to do about a file that cannot be read, after the reason; nothing where the reason says it.
pub(super) fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "; check the path",
        io::ErrorKind::IsADirectory => "; name a file in it",
        io::ErrorKind::PermissionDenied => "; run the command as a user who may read it",
        _ => "",
    }
}

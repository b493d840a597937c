//! `portcullis login` and `logout`: keep the address of a service and a key for it.
//!
//! Commands that ask a service use its key where nothing names a key, and, if nothing names a service either,
//! its address. The key is sent to that service only.

mod key_input;
mod stored;

pub(super) use stored::Login;

use super::error::CliError;
use super::service::Service;
use super::{Verdict, output};
use crate::config::Secret;

/// Save a service's address and key for other commands
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The key is asked for without showing it, or read from the standard input; it is not an argument, because any \
process on the machine can read the arguments of others. It is tried before it is kept, in a file that \
only you can read: portcullis/login.json in $XDG_CONFIG_HOME or ~/.config. An earlier login is replaced.

--url, --key-file, PORTCULLIS_API_KEY, PORTCULLIS_LISTEN and a settings file take precedence. The key is sent to \
this service only, also if --url names it.

Examples:
  portcullis login https://authz.example.com
  portcullis login http://127.0.0.1:8081 < key.txt; portcullis stats"
)]
pub(super) struct Args {
    /// The service, for example `https://authz.example.com`
    url: String,
}

/// Forget the address and the key of `portcullis login`
#[derive(Debug, clap::Args)]
#[command(after_help = "The key stays valid: `portcullis keys revoke` makes it invalid.

Examples:
  portcullis logout")]
pub(super) struct LogoutArgs {}

pub(super) fn run(Args { url }: Args) -> Result<Verdict, CliError> {
    let path = stored::path()?;
    let login = Login { url, key: key_input::read()? };
    let service = Service::new(&login.url, Some(Secret(login.key.clone())))?;
    // Any key may read the policy.
    service.policy_source(None)?;
    login.store(&path)?;
    output::to_stdout(&format!("logged in to {}; the key is in `{}`", service.name(), path.display()))?;
    Ok(Verdict::Good)
}

pub(super) fn run_logout(LogoutArgs {}: LogoutArgs) -> Result<Verdict, CliError> {
    let path = stored::path()?;
    let text = if stored::remove(&path)? { "logged out" } else { "you are not logged in" };
    output::to_stdout(text)?;
    Ok(Verdict::Good)
}

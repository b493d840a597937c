//! `portcullis accept-loss`: continues with an environment that lacks acknowledged writes.

use super::backup::described;
use super::data::DataFolder;
use super::error::CliError;
use super::{Verdict, output};
use crate::engine::check_environment_name;
use crate::http::DEFAULT_ENVIRONMENT;
use crate::store::{accept_loss, find_loss};

/// Show what remains of a damaged environment, and continue with it
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Use this for an environment that the service refuses to open because its log is missing, truncated or \
from another store. Without --yes nothing is changed. Look for the missing file first: with it back in its place, the service \
starts. If a backup is newer than what is left, restore it instead.

Examples:
  portcullis accept-loss --environment staging          # what is missing, and what is there
  portcullis accept-loss --environment staging --yes    # continue without what is missing"
)]
pub(super) struct Args {
    #[command(flatten)]
    data: DataFolder,
    /// The environment
    #[arg(long, value_name = "NAME", default_value = DEFAULT_ENVIRONMENT)]
    environment: String,
    /// Continue with what remains
    #[arg(long)]
    yes: bool,
}

pub(super) fn run(args: Args) -> Result<Verdict, CliError> {
    let Args { data, environment, yes } = args;
    let dir = data.find()?.join(&environment);
    check_environment_name(&environment)?;
    let remains = if yes { accept_loss(&dir)? } else { find_loss(&dir)? };
    let Some(remains) = remains else {
        output::to_stdout(&format!("`{environment}` has all acknowledged writes"))?;
        return Ok(Verdict::Good);
    };
    let mut lines = vec![
        format!("missing: {}", remains.loss),
        format!("what remains: {}", described(&environment, &remains.held)),
    ];
    lines.extend(
        remains
            .aside
            .map(|aside| format!("the log does not belong to it, and is moved to {}", aside.display())),
    );
    let outcome = if yes {
        "it can be served again, without what is missing"
    } else {
        "nothing was changed: --yes continues with what remains"
    };
    lines.push(outcome.to_owned());
    output::to_stdout(&lines.join("\n"))?;
    Ok(if yes { Verdict::Good } else { Verdict::Bad })
}

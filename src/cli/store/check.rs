//! `portcullis store check`: reports problems with a database as the store.

use super::StoreAddress;
use crate::cli::error::CliError;
use crate::cli::output::{self, Format, FormatArgs};
use crate::cli::{Verdict, serve};
use crate::store::postgres::{self, FindingState, StoreFinding};
use serde_json::{Value as Json, json};

/// Report problems with a database as the store
#[derive(Debug, clap::Args)]
#[command(
    after_help = "It looks at the server's version and settings, the encoding, the format of the tables, the
environments, and the rights of the role, and changes nothing. Exit code 1 if something is bad,
but not for warnings alone.

Examples:
  portcullis store check postgres://portcullis@db.internal/portcullis?sslmode=verify-full
  PORTCULLIS_STORE=postgres:///portcullis portcullis store check --json"
)]
pub(super) struct StoreCheckArgs {
    #[command(flatten)]
    store: StoreAddress,
    #[command(flatten)]
    pub(super) output: FormatArgs,
}

pub(super) fn run(args: &StoreCheckArgs) -> Result<Verdict, CliError> {
    let address = args.store.read()?;
    let findings = serve::runtime()?.block_on(postgres::check(&address))?;
    let text = match args.output.format() {
        Format::Text => findings.iter().map(line).collect::<Vec<_>>().join("\n"),
        Format::Json => {
            let findings: Vec<Json> = findings.iter().map(as_json).collect();
            format!("{:#}", json!({ "store": address.to_string(), "findings": findings }))
        }
    };
    output::to_stdout(&text)?;
    let is_bad = findings.iter().any(|finding| finding.state == FindingState::Bad);
    Ok(if is_bad { Verdict::Bad } else { Verdict::Good })
}

fn line(finding: &StoreFinding) -> String {
    let StoreFinding { what, state, message } = finding;
    format!("{:<7}  {what}: {message}", state.as_str())
}

fn as_json(finding: &StoreFinding) -> Json {
    let StoreFinding { what, state, message } = finding;
    json!({ "what": what, "state": state.as_str(), "message": message })
}

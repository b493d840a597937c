//! `portcullis config`: the settings in force.

use super::Verdict;
use super::error::CliError;
use super::flags::SettingFlags;
use super::output::{self, Format, FormatArgs};
use crate::config::{Config, InForce, SettingOrigin};
use serde_json::{Map, Value as Json, json};
use std::fmt::Write;

/// Show the settings
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ConfigCommand {
    Show(Show),
}

/// Print every setting in force, and where its value comes from
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A flag takes precedence over a variable, a variable over the file, the file over the default.
Secrets are not shown.

Examples:
  portcullis config show
  portcullis config show --config portcullis.toml --json"
)]
struct Show {
    #[command(flatten)]
    output: FormatArgs,
    #[command(flatten)]
    settings: SettingFlags,
}

impl Args {
    /// The format of the output.
    pub(super) fn format(&self) -> Format {
        let ConfigCommand::Show(Show { output, .. }) = &self.command;
        output.format()
    }
}

pub(super) fn run(args: Args) -> Result<Verdict, CliError> {
    let ConfigCommand::Show(Show { output, settings }) = args.command;
    let values = settings.settled()?.values;
    output::to_stdout(&match output.format() {
        Format::Text => as_table(&values),
        Format::Json => format!("{:#}", as_json(&values)),
    })?;
    Ok(Verdict::Good)
}

fn as_json(values: &[InForce]) -> Json {
    let entry = |InForce { name, value, origin }: &InForce| {
        let kind = match origin {
            SettingOrigin::Default => "default",
            SettingOrigin::File { .. } => "file",
            SettingOrigin::Variable(_) => "variable",
            SettingOrigin::Flag(_) => "flag",
        };
        ((*name).to_owned(), json!({ "value": value, "from": kind, "place": origin.to_string() }))
    };
    Json::Object(values.iter().map(entry).collect::<Map<_, _>>())
}

/// The settings by group, in three columns.
fn as_table(values: &[InForce]) -> String {
    let rows: Vec<[String; 3]> = values
        .iter()
        .map(|InForce { name, value, origin }| {
            let value = match value {
                Json::Null => "none".to_owned(),
                Json::String(text) => text.clone(),
                other => other.to_string(),
            };
            [(*name).to_owned(), value, origin.to_string()]
        })
        .collect();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let (names, texts) = (width(0), width(1));
    let mut text = String::new();
    let mut group = "";
    for (setting, [name, value, origin]) in Config::SETTINGS.iter().zip(&rows) {
        if setting.group != group {
            group = setting.group;
            // Writing to a String cannot fail.
            let _ = writeln!(text, "\n{group}");
        }
        let _ = writeln!(text, "  {name:names$}  {value:texts$}  {origin}");
    }
    text.trim_start().to_owned()
}

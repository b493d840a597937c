//! The data folder of a command: from `--data`, or else from the settings.

use super::error::CliError;
use crate::config::{Config, Flags};
use std::path::PathBuf;

/// The flags for the data folder.
#[derive(Debug, clap::Args)]
pub(super) struct DataFolder {
    /// The data folder; by default that of the settings
    #[arg(long, value_name = "DIR", global = true)]
    data: Option<PathBuf>,
    /// The settings file; by default that of `PORTCULLIS_CONFIG`
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
}

impl DataFolder {
    /// The folder, which need not exist.
    pub(super) fn find(self) -> Result<PathBuf, CliError> {
        match self.data {
            Some(data) => Ok(data),
            None => Ok(Config::load(self.config, Flags::new())?.config.data),
        }
    }
}

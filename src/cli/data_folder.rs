//! Which data folder a command is about.

use super::error::CliError;
use crate::config::{Config, Flags};
use std::path::PathBuf;

/// The arguments that say it.
#[derive(Debug, clap::Args)]
pub(super) struct DataFolder {
    /// The data folder, by default that of the settings
    #[arg(long, value_name = "DIR", global = true)]
    data: Option<PathBuf>,
    /// The file with settings, by default that of `PORTCULLIS_CONFIG`
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
}

impl DataFolder {
    /// The folder: the one that was named, else that of the settings.
    pub(super) fn path(self) -> Result<PathBuf, CliError> {
        match self.data {
            Some(data) => Ok(data),
            None => Ok(Config::load(self.config, Flags::new())?.config.data),
        }
    }
}

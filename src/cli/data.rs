//! Where the data is on which a command works: the folder that `--data` names, else that of the settings.

use super::error::CliError;
use crate::config::{Config, Flags};
use std::path::PathBuf;

/// The flags that say where the data is.
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
    /// The folder, which need not exist.
    pub(super) fn find(self) -> Result<PathBuf, CliError> {
        match self.data {
            Some(data) => Ok(data),
            None => Ok(Config::load(self.config, Flags::new())?.config.data),
        }
    }
}

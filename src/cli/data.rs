//! Where the data of a command is: in the folder of `--data`, or else where the settings say.

use super::error::{ArgumentError, CliError};
use crate::config::{Config, Flags, StoreUrl};
use crate::store::postgres::{Address, StoreServers};
use std::path::PathBuf;

/// Where environments are.
#[derive(Debug)]
pub(super) enum DataPlace {
    /// In a data folder, which need not exist.
    Folder(PathBuf),
    /// In a PostgreSQL database.
    Database(Address),
}

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
    /// The folder, which need not exist. Refused if the settings name a database instead.
    pub(super) fn find(self) -> Result<PathBuf, CliError> {
        match self.place()? {
            DataPlace::Folder(data) => Ok(data),
            DataPlace::Database(_) => Err(ArgumentError::NeedsFolder.into()),
        }
    }

    /// The folder, or the database that the settings name.
    pub(super) fn place(self) -> Result<DataPlace, CliError> {
        if let Some(data) = self.data {
            return Ok(DataPlace::Folder(data));
        }
        let config = Config::load(self.config, Flags::new())?.config;
        Ok(match &config.store {
            Some(url) => DataPlace::Database(store_address(url)?),
            None => DataPlace::Folder(config.data),
        })
    }
}

/// The servers of the store that is not in a folder.
pub(super) fn store_servers(config: &Config) -> Result<Option<StoreServers>, CliError> {
    let Some(store) = &config.store else {
        let has_replicas = !config.store_replica.0.is_empty() || config.max_staleness.is_some();
        return if has_replicas { Err(ArgumentError::ReplicaWithoutStore.into()) } else { Ok(None) };
    };
    let replicas = config.store_replica.0.iter().map(store_address).collect::<Result<_, _>>()?;
    Ok(Some(StoreServers { primary: store_address(store)?, replicas, max_staleness: config.max_staleness }))
}

/// The address of a store, with the certificates that it names.
pub(super) fn store_address(StoreUrl(url): &StoreUrl) -> Result<Address, CliError> {
    Ok(Address::parse(url).map_err(ArgumentError::StoreAddress)?)
}

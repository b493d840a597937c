//! Carries out admin commands, in the service that runs on a data folder or else in this process.

use super::data::DataPlace;
use super::error::CliError;
use super::serve;
use crate::admin::{self, AdminCommand, AdminReply, ListedKey, default_stays, unknown_key};
use crate::http::DEFAULT_ENVIRONMENT;
use crate::store::postgres::{self, Address, StoreServers};
use crate::store::{Access, DatabaseError, Key, Store, StoreError, StoreOptions, delete};
use std::path::Path;

/// The service's reply; `None` if no service runs.
pub(super) fn send(data: &Path, command: &AdminCommand) -> Result<Option<AdminReply>, CliError> {
    admin::send(data, command).map_err(|error| CliError::AdminSocket { data: data.into(), error })
}

/// The reply of the service, or of the store, which is opened here if no service runs. A store in a database
/// is always opened here: the services follow it.
pub(super) fn carry_out(place: &DataPlace, command: &AdminCommand) -> Result<AdminReply, CliError> {
    match place {
        DataPlace::Folder(data) => match send(data, command)? {
            Some(reply) => Ok(reply),
            None => alone(data, command),
        },
        DataPlace::Database(address) => in_database(address, command),
    }
}

fn alone(data: &Path, command: &AdminCommand) -> Result<AdminReply, CliError> {
    let open = |environment: &str, make: bool| {
        let dir = data.join(environment);
        if !make && !dir.is_dir() {
            return Err(StoreError::Missing(dir));
        }
        Store::open(&dir, &StoreOptions::default())
    };
    Ok(match command {
        AdminCommand::CreateKey { environment, .. } => on_store(&open(environment, true)?, command)?,
        AdminCommand::ListKeys { environment } | AdminCommand::RevokeKey { environment, .. } => {
            on_store(&open(environment, false)?, command)?
        }
        AdminCommand::DeleteEnvironment { environment } if environment == DEFAULT_ENVIRONMENT => {
            default_stays()
        }
        AdminCommand::DeleteEnvironment { environment } => {
            delete(&data.join(environment))?;
            AdminReply::EnvironmentDeleted
        }
        // Without a service there is nothing to open it in.
        AdminCommand::OpenEnvironment { .. } => AdminReply::EnvironmentOpened,
    })
}

fn in_database(address: &Address, command: &AdminCommand) -> Result<AdminReply, CliError> {
    let runtime = serve::runtime()?;
    let servers = StoreServers::from(address.clone());
    let open =
        |environment: &str| runtime.block_on(Store::connect(&servers, environment, &StoreOptions::default()));
    match command {
        AdminCommand::CreateKey { environment, .. } => {
            let store = match open(environment) {
                Err(StoreError::Database(DatabaseError::NoEnvironment(_))) => {
                    runtime.block_on(postgres::migrate(address, environment))?;
                    open(environment)
                }
                opened => opened,
            };
            on_store(&store?, command)
        }
        AdminCommand::ListKeys { environment } | AdminCommand::RevokeKey { environment, .. } => {
            on_store(&open(environment)?, command)
        }
        AdminCommand::DeleteEnvironment { environment } if environment == DEFAULT_ENVIRONMENT => {
            Ok(default_stays())
        }
        AdminCommand::DeleteEnvironment { environment } => {
            runtime.block_on(postgres::delete_environment(address, environment))?;
            Ok(AdminReply::EnvironmentDeleted)
        }
        // A service opens it with the first request that needs it.
        AdminCommand::OpenEnvironment { .. } => Ok(AdminReply::EnvironmentOpened),
    }
}

/// Carries out a command about the keys of a store.
fn on_store(store: &Store, command: &AdminCommand) -> Result<AdminReply, CliError> {
    let runtime = serve::runtime()?;
    Ok(match command {
        AdminCommand::CreateKey { environment, name, read_only } => {
            let access = if *read_only { Access::ReadOnly } else { Access::ReadWrite };
            let made = runtime.block_on(store.create_key(environment.clone(), name.clone(), access))?;
            AdminReply::KeyCreated { key: made.text }
        }
        AdminCommand::ListKeys { .. } => {
            let listed = |key: Key| {
                let used = store.key_last_used(&key.id);
                ListedKey::new(key, used)
            };
            AdminReply::Keys { keys: store.keys().into_iter().map(listed).collect() }
        }
        AdminCommand::RevokeKey { environment, id } => {
            if runtime.block_on(store.revoke_key(id.clone()))? {
                AdminReply::KeyRevoked
            } else {
                unknown_key(environment, id)
            }
        }
        AdminCommand::DeleteEnvironment { .. } | AdminCommand::OpenEnvironment { .. } => {
            return Err(
                StoreError::Bug("a command about an environment is carried out on a store".into()).into()
            );
        }
    })
}

//! What a question is asked about: a policy and facts in files, a data folder, or a running service.

use super::error::{ArgumentError, CliError};
use super::login::Login;
use super::service::Service;
use crate::config::{Config, Flags, Secret, SettingOrigin};
use crate::engine::check_environment_name;
use crate::http::DEFAULT_ENVIRONMENT;
use std::path::{Path, PathBuf};

// A documentation comment on these structs would be shown as that of the command.
#[derive(Debug, clap::Args)]
pub(super) struct OriginArgs {
    /// A policy file; without one, a service or a data folder is asked about its own
    #[arg(conflicts_with_all = ["url", "key_file", "config", "data"])]
    policy: Option<PathBuf>,
    /// The facts of the policy file: one per line, in the notation of questions or as JSON
    #[arg(long, value_name = "FILE", requires = "policy")]
    facts: Option<PathBuf>,
    #[command(flatten)]
    service: ServiceArgs,
    #[command(flatten)]
    folder: FolderArgs,
}

#[derive(Debug, clap::Args)]
pub(super) struct ServiceArgs {
    /// The service; by default that of `portcullis login`, or else the one on this machine, as the settings
    /// describe it
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// A file that contains the key; by default the key in the settings, for example in
    /// `PORTCULLIS_API_KEY`, or that of `portcullis login`, and for a service on this machine the one that
    /// `serve --dev` accepts
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// The settings file; by default that of `PORTCULLIS_CONFIG`
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(super) struct FolderArgs {
    /// Use the policy and the facts of this data folder instead
    #[arg(long, value_name = "DIR", conflicts_with_all = ["url", "key_file", "config"])]
    data: Option<PathBuf>,
    /// The environment in the data folder (a service determines it by the key)
    #[arg(long, value_name = "NAME", requires = "data", default_value = DEFAULT_ENVIRONMENT)]
    environment: String,
}

#[derive(Debug, clap::Args)]
pub(super) struct AskedArgs {
    #[command(flatten)]
    service: ServiceArgs,
    /// Ask about this policy file instead
    #[arg(long, value_name = "FILE", conflicts_with_all = ["url", "key_file", "config", "data"])]
    policy: Option<PathBuf>,
    /// The facts of the policy file: one per line, in the notation of questions or as JSON
    #[arg(long, value_name = "FILE", requires = "policy")]
    facts: Option<PathBuf>,
    #[command(flatten)]
    folder: FolderArgs,
}

/// What a question is asked about.
pub(super) enum Origin {
    /// A running service.
    Service(Service),
    /// Files.
    Files {
        /// The policy.
        policy: PathBuf,
        /// The facts, if there are any.
        facts: Option<PathBuf>,
    },
    /// A data folder.
    Folder {
        /// The folder of the environment.
        folder: PathBuf,
        /// The environment's name.
        environment: String,
    },
}

impl OriginArgs {
    /// What the arguments name. A service is not connected to yet.
    pub(super) fn origin(self) -> Result<Origin, CliError> {
        let Self { policy, facts, service, folder } = self;
        Origin::of(policy, facts, service, folder)
    }
}

impl AskedArgs {
    /// What the arguments name. A service is not connected to yet.
    pub(super) fn origin(self) -> Result<Origin, CliError> {
        let Self { service, policy, facts, folder } = self;
        Origin::of(policy, facts, service, folder)
    }
}

impl Origin {
    /// The policy file, if it is one.
    pub(super) fn policy(&self) -> Option<&Path> {
        match self {
            Self::Files { policy, .. } => Some(policy),
            Self::Service(_) | Self::Folder { .. } => None,
        }
    }

    /// The origin that the arguments of a command name. Does not connect to a service yet.
    pub(super) fn of(
        policy: Option<PathBuf>,
        facts: Option<PathBuf>,
        service: ServiceArgs,
        folder: FolderArgs,
    ) -> Result<Self, CliError> {
        if policy.is_some() && (service.is_given() || folder.is_given()) {
            return Err(ArgumentError::TwoOrigins.into());
        }
        let environment = folder.environment.clone();
        match (policy, folder.path()?) {
            (Some(policy), _) => Ok(Self::Files { policy, facts }),
            (None, Some(folder)) => Ok(Self::Folder { folder, environment }),
            (None, None) => Ok(Self::Service(service.service()?)),
        }
    }
}

impl ServiceArgs {
    /// Whether a service is described.
    fn is_given(&self) -> bool {
        self.url.is_some() || self.key_file.is_some() || self.config.is_some()
    }

    /// The service, which is not connected to yet.
    pub(super) fn service(self) -> Result<Service, CliError> {
        let is_described = self.config.is_some();
        let settled = Config::load(self.config, Flags::new())?;
        let has_file = settled.values.iter().any(|value| matches!(value.origin, SettingOrigin::File { .. }));
        let is_described = is_described || has_file || settled.gives("listen");
        let has_key = self.key_file.is_some() || settled.gives("api_key");
        let login = if has_key { None } else { Login::kept()? };
        let config = settled.config;
        let url = match (self.url, &login) {
            (Some(url), _) => url,
            (None, Some(login)) if !is_described => login.url.clone(),
            (None, _) => format!("{}://{}", config.scheme(), config.listen),
        };
        let key = match login.filter(|login| login.is_for(&url)) {
            Some(login) => Some(login.secret()),
            None => key(self.key_file, config.api_key)?,
        };
        Service::new(&url, key)
    }
}

impl FolderArgs {
    /// Whether a folder is named.
    fn is_given(&self) -> bool {
        self.data.is_some()
    }

    /// The folder of the environment, if one is named.
    pub(super) fn path(self) -> Result<Option<PathBuf>, CliError> {
        let Some(data) = self.data else { return Ok(None) };
        check_environment_name(&self.environment)?;
        Ok(Some(data.join(self.environment)))
    }
}

/// The key in a file, or else that of the settings.
fn key(file: Option<PathBuf>, configured: Option<Secret>) -> Result<Option<Secret>, CliError> {
    let Some(file) = file else { return Ok(configured) };
    let text = std::fs::read_to_string(&file).map_err(|error| CliError::unreadable(&file, error))?;
    Ok(Some(Secret(text)))
}

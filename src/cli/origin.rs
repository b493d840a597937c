//! What a question is asked about: a policy and facts in files, a data folder, or a running service.

use super::error::CliError;
use super::facts::{self, Service};
use crate::config::{Config, Flags};
use crate::engine::check_environment_name;
use crate::http::DEFAULT_ENVIRONMENT;
use std::path::PathBuf;

// A documentation comment here would be shown as that of the command.
#[derive(Debug, clap::Args)]
pub(super) struct OriginArgs {
    /// The policy file; a service and a data folder have their own
    #[arg(required_unless_present_any = ["url", "data"], conflicts_with_all = ["url", "data"])]
    policy: Option<PathBuf>,
    /// The facts: one per line, in the notation of questions or as JSON
    #[arg(long, value_name = "FILE", conflicts_with_all = ["url", "data"])]
    facts: Option<PathBuf>,
    /// Ask this service instead, about its own policy and facts
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// A file that contains the key; by default the key in the settings, for example in `PORTCULLIS_API_KEY`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["policy", "data"])]
    key_file: Option<PathBuf>,
    /// The settings file; by default that of `PORTCULLIS_CONFIG`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["policy", "data"])]
    config: Option<PathBuf>,
    /// Ask about the policy and the facts of this data folder, which is read into memory
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    data: Option<PathBuf>,
    /// The environment in the data folder (a service determines it by the key)
    #[arg(long, value_name = "NAME", requires = "data", default_value = DEFAULT_ENVIRONMENT)]
    environment: String,
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
    /// The folder of an environment.
    Folder(PathBuf),
}

impl OriginArgs {
    /// What the arguments name. A service is not connected to yet.
    pub(super) fn origin(self) -> Result<Origin, CliError> {
        match (self.url, self.policy, self.data) {
            (Some(url), _, _) => {
                let config = Config::load(self.config, Flags::new())?.config;
                Ok(Origin::Service(Service::new(&url, facts::key(self.key_file, config.api_key)?)?))
            }
            (None, Some(policy), _) => Ok(Origin::Files { policy, facts: self.facts }),
            (None, None, Some(data)) => {
                check_environment_name(&self.environment)?;
                Ok(Origin::Folder(data.join(self.environment)))
            }
            (None, None, None) => Err(CliError::Refused("give a policy file, --data or --url".to_owned())),
        }
    }
}

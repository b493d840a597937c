//! What explains a decision of the past: a service, or a data folder.
//!
//! In: what was asked, the version of the policy that decided, and the time. Out: the explanation with the
//! current facts. A data folder is read once for each version, because a policy decides which facts are held.

use super::{AskedWhy, body, of_held};
use crate::cli::error::{CliError, LoggedError};
use crate::cli::folder::{self, HeldFolder};
use crate::cli::origin::Origin;
use crate::cli::serve;
use crate::cli::service::Service;
use crate::http::WhyOut;
use std::path::Path;
use tokio::runtime::Runtime;

/// Explains decisions of one environment.
pub(super) enum Replay<'r> {
    /// A running service, which knows the environment by the key.
    Service(&'r Service),
    /// The folder of an environment.
    Folder(Box<ReplayedFolder<'r>>),
}

/// The folder of an environment, with what is held of it.
pub(super) struct ReplayedFolder<'r> {
    folder: &'r Path,
    environment: &'r str,
    runtime: Runtime,
    /// The last version of the policy that was asked for.
    held: Option<(u64, HeldFolder)>,
}

impl<'r> Replay<'r> {
    /// What the arguments name; `None` for files, which have no versions.
    pub(super) fn on(origin: &'r Origin) -> Result<Option<Self>, CliError> {
        Ok(match origin {
            Origin::Service(service) => Some(Self::Service(service)),
            Origin::Folder { folder, environment } => {
                let runtime = serve::runtime()?;
                Some(Self::Folder(Box::new(ReplayedFolder { folder, environment, runtime, held: None })))
            }
            Origin::Files { .. } => None,
        })
    }

    /// The environment whose decisions it explains.
    pub(super) fn environment(&self) -> &str {
        match self {
            Self::Service(service) => service.environment(),
            Self::Folder(folder) => folder.environment,
        }
    }

    /// The error for a request that was decided in another environment.
    pub(super) fn other_environment(&self, request: &str, decided_in: String) -> LoggedError {
        let (request, asked) = (request.to_owned(), self.environment().to_owned());
        match self {
            Self::Service(_) => LoggedError::OtherKey { request, decided_in, key_for: asked },
            Self::Folder(_) => LoggedError::OtherFolder { request, decided_in, asked },
        }
    }

    /// Explains what was asked, with a version of the policy and as if it were this time, in seconds since
    /// the epoch.
    pub(super) fn explanation(&mut self, asked: AskedWhy, policy: u64, at: i64) -> Result<WhyOut, CliError> {
        match self {
            Self::Service(service) => {
                service.answer(&format!("explain?version={policy}&at={at}&effects=true"), &body(&asked))
            }
            Self::Folder(folder) => folder.explanation(asked, policy, at),
        }
    }
}

impl ReplayedFolder<'_> {
    fn explanation(&mut self, asked: AskedWhy, policy: u64, at: i64) -> Result<WhyOut, CliError> {
        let Self { folder, runtime, held, .. } = self;
        let known = held.take().filter(|(version, _)| *version == policy);
        let (_, held) = held.insert(match known {
            Some(known) => known,
            None => (policy, folder::hold(folder, Some(policy), runtime)?),
        });
        of_held(&held.engine.at_moment(at), held.state, asked, runtime)
    }
}

//! Why a decision of the decision log cannot be explained.

use super::CommandCode;
use std::path::PathBuf;

/// Why a decision of the decision log cannot be explained.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum LoggedError {
    /// A line of the log is not a decision.
    #[error(
        "`{}` contains a line that is not a decision: {error}; give the file of the setting `decision_log`",
        .log.display()
    )]
    Line {
        /// The file.
        log: PathBuf,
        /// What is wrong with the line.
        error: serde_json::Error,
    },
    /// A decision in the log has no time.
    #[error(
        "`{}` has a decision at `{time}`, which is not a time; give the file of the setting `decision_log`",
        .log.display()
    )]
    Time {
        /// The file.
        log: PathBuf,
        /// What the decision has instead.
        time: String,
    },
    /// The log has nothing about a request.
    #[error(
        "`{}` contains no decision for request `{request}`: check the id, and that this log is of that time",
        .log.display()
    )]
    UnknownRequest {
        /// The file.
        log: PathBuf,
        /// The id of the request.
        request: String,
    },
    /// A request was decided in a different environment than the key's.
    #[error(
        "request `{request}` was decided in environment `{decided_in}`, and the key is for `{key_for}`: give a key for `{decided_in}`"
    )]
    OtherKey {
        /// The id of the request.
        request: String,
        /// The environment in the log.
        decided_in: String,
        /// The environment of the key.
        key_for: String,
    },
    /// A request was decided in a different environment than that of the data folder that is asked.
    #[error(
        "request `{request}` was decided in environment `{decided_in}`, not in `{asked}`: give --environment {decided_in}"
    )]
    OtherFolder {
        /// The id of the request.
        request: String,
        /// The environment in the log.
        decided_in: String,
        /// The environment that is asked.
        asked: String,
    },
    /// A data folder does not have the version of the policy that decided.
    #[error(
        "`{}` has no version {version} of the policy: give the data folder of the service that wrote the log",
        .folder.display()
    )]
    NoVersion {
        /// The folder of the environment.
        folder: PathBuf,
        /// The version.
        version: u64,
    },
}

impl LoggedError {
    /// What kind of error it is, for programs.
    pub(super) fn code(&self) -> CommandCode {
        match self {
            Self::Line { .. } | Self::Time { .. } => CommandCode::InvalidDecisionLog,
            Self::UnknownRequest { .. } => CommandCode::UnknownRequest,
            Self::OtherKey { .. } | Self::OtherFolder { .. } => CommandCode::OtherEnvironment,
            Self::NoVersion { .. } => CommandCode::UnknownVersion,
        }
    }
}

//! Errors of commands that talk to a running service.

use super::CommandCode;
use super::code::said_by_service;
use crate::cli::active_policy::NO_POLICY;
use std::borrow::Cow;

/// Why a command got nothing from a running service.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum ServiceError {
    /// There is no key for a service on another machine.
    #[error("no key: run `portcullis login`, set PORTCULLIS_API_KEY, or give --key-file")]
    NoKey,
    /// The key is not one that a service creates.
    #[error(
        "the key is empty, or has characters that no key has: check what was typed, PORTCULLIS_API_KEY, or the file of --key-file"
    )]
    InvalidKey,
    /// There is no answer.
    #[error("no answer from the service: {0}; check its address, and that it runs")]
    Unreachable(String),
    /// The answer is not that of a service.
    #[error(
        "cannot read the answer of the service: {0}; check that the address is that of a Portcullis service"
    )]
    UnexpectedAnswer(String),
    /// The service has no policy yet.
    #[error("{NO_POLICY}")]
    NoPolicy,
    /// It refused the request, and says why.
    #[error("{message}")]
    BadRequest {
        /// Why it refused.
        message: String,
        /// The code in its answer.
        code: String,
    },
    /// It refused the request with a status other than 400.
    #[error("the service answers {status}: {message}")]
    Refused {
        /// The status of its answer.
        status: u16,
        /// Why it refused.
        message: String,
        /// The code in its answer.
        code: String,
    },
    /// It refused a chunk of facts because of its size.
    #[error("the service answers 413: {message}; try a smaller --chunk")]
    LargeChunk {
        /// Why it refused.
        message: String,
        /// The code in its answer.
        code: String,
    },
}

impl ServiceError {
    /// The code of the error.
    pub(super) fn code(self) -> Cow<'static, str> {
        let code = match self {
            Self::NoKey => CommandCode::NoKey,
            Self::InvalidKey => CommandCode::InvalidKey,
            Self::Unreachable(_) => CommandCode::ServiceUnreachable,
            Self::UnexpectedAnswer(_) => CommandCode::UnexpectedAnswer,
            Self::NoPolicy => CommandCode::NoPolicy,
            Self::BadRequest { code, .. } | Self::Refused { code, .. } | Self::LargeChunk { code, .. } => {
                return said_by_service(code);
            }
        };
        code.as_str().into()
    }
}

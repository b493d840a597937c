//! The errors of requests, and their answers.
//!
//! One enum, whose variants have the codes of [`ErrorCode`]. Every answer is JSON with a text `message`,
//! which clients rely on, and a `code`, by which programs distinguish errors. Mistakes of the client are
//! explained in full. Faults of the service (500, 503) are logged inside the span with the request's id; the
//! answer says only that it is a fault of the service. `POST /policy` has a wider form,
//! [`PolicyError`](super::policy_error::PolicyError).

use super::code::ErrorCode;
use super::json::with_status;
use super::rate::whole_seconds;
use crate::engine::{EngineError, PolicyRefusal, RefusedQuestion};
use crate::share::{Lost, NoRoom};
use crate::store::{DatabaseError, StoreError};
use axum::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use std::num::NonZeroU32;
use std::time::Duration;

/// After how many seconds a client may retry a temporary refusal.
const RETRY_SECONDS: u64 = 1;

/// What a client does about a key that opens nothing.
pub(super) const UNKNOWN_KEY: &str = "the API key is unknown or was revoked: send another one";

/// What a client does about a temporary refusal.
const WAIT: &str = "wait as long as `Retry-After` says, and try again";

/// Why a request failed.
#[derive(Debug)]
pub(super) enum ApiError {
    /// 400: the body is not JSON.
    InvalidJson(String),
    /// 400: a field, a parameter or a value is wrong.
    BadRequest(String),
    /// 400: the question cannot be answered under the policy.
    Refused(Box<RefusedQuestion>),
    /// 400: the question is about a predicate that the policy does not have.
    UnknownPredicate(String),
    /// 400: the question took longer than its limit.
    Timeout(String),
    /// 400: the data bindings are wrong.
    InvalidBindings(String),
    /// 400: the rows of the caller's database contradict its own answer.
    Contradiction(String),
    /// 400: the policy is wrong, or its tests fail.
    InvalidPolicy(PolicyRefusal),
    /// 401: the key is missing or unknown.
    Unauthorized(&'static str),
    /// 403: a read-only key on a mutation.
    Forbidden,
    /// 403: a request to the studio, or with `--dev`, that may be of another page.
    ForeignPage(&'static str),
    /// 404: no such path or version.
    NotFound(String),
    /// 405: the path exists, the method does not.
    MethodNotAllowed,
    /// 408: the body did not arrive within this time.
    SlowBody(Duration),
    /// 409: a write that the request must see was lost.
    LostWrite(String),
    /// 413: over a limit, which the text names.
    TooLarge(String),
    /// 415: the body is not `application/json`.
    UnsupportedMediaType,
    /// 429: the key is over its rate limit; it may try again after this wait.
    TooManyRequests { each_second: NonZeroU32, wait: Duration },
    /// 429: too many keys were tried at the studio; the next may be tried after this wait.
    TooManySignIns(Duration),
    /// 500: a fault of the service; the text is for the log.
    Internal(String),
    /// 503: temporarily unavailable; the text is for the log.
    Unavailable(String),
    /// 503: questions are answered, but nothing can be stored; the text is for the log.
    CannotStore(String),
    /// 503: the same until the service is started again; the text is for the log.
    WritesStopped(String),
    /// 503: nothing can be stored because the store's files were moved; the text is for the log.
    FilesMoved(String),
    /// 503: this node has seen writes that the database has lost; the text is for the log.
    RestartRequired(String),
    /// 503: the store was migrated, and this node is too old for it; the text is for the log.
    UpgradeRequired(String),
}

/// What helps against an error; a cause is for the log.
#[derive(Clone, Copy, Debug)]
enum Remedy<'e> {
    /// Another request: this one is at fault.
    OtherRequest,
    /// The same request after this wait.
    Later(Duration),
    /// The same request soon, to this node or another one.
    Retry(&'e str),
    /// A new start of the service.
    Restart(&'e str),
    /// A correction of the service.
    Correction(&'e str),
}

impl ApiError {
    /// Its code, which determines the status.
    fn code(&self) -> ErrorCode {
        match self {
            Self::InvalidJson(_) => ErrorCode::InvalidJson,
            Self::BadRequest(_) => ErrorCode::InvalidRequest,
            Self::Refused(refused) => (&refused.refusal).into(),
            Self::UnknownPredicate(_) => ErrorCode::UnknownPredicate,
            Self::Timeout(_) => ErrorCode::Timeout,
            Self::InvalidBindings(_) => ErrorCode::InvalidBindings,
            Self::Contradiction(_) => ErrorCode::ContradictoryRows,
            Self::InvalidPolicy(refusal) => refusal.into(),
            Self::Unauthorized(_) => ErrorCode::Unauthorized,
            Self::Forbidden => ErrorCode::ReadOnlyKey,
            Self::ForeignPage(_) => ErrorCode::ForeignPage,
            Self::NotFound(_) => ErrorCode::NotFound,
            Self::MethodNotAllowed => ErrorCode::MethodNotAllowed,
            Self::LostWrite(_) => ErrorCode::LostWrite,
            Self::SlowBody(_) => ErrorCode::SlowBody,
            Self::TooLarge(_) => ErrorCode::LimitExceeded,
            Self::UnsupportedMediaType => ErrorCode::UnsupportedMediaType,
            Self::TooManyRequests { .. } | Self::TooManySignIns(_) => ErrorCode::RateLimited,
            Self::Internal(_) => ErrorCode::InternalError,
            Self::Unavailable(_) => ErrorCode::Unavailable,
            Self::CannotStore(_) | Self::WritesStopped(_) => ErrorCode::CannotStore,
            Self::FilesMoved(_) => ErrorCode::FilesMoved,
            Self::RestartRequired(_) => ErrorCode::RestartRequired,
            Self::UpgradeRequired(_) => ErrorCode::UpgradeRequired,
        }
    }

    /// The message for the client.
    fn into_message(self) -> String {
        match self {
            Self::InvalidJson(text)
            | Self::BadRequest(text)
            | Self::UnknownPredicate(text)
            | Self::Timeout(text)
            | Self::InvalidBindings(text)
            | Self::Contradiction(text)
            | Self::NotFound(text)
            | Self::LostWrite(text)
            | Self::TooLarge(text) => text,
            Self::Refused(refused) => refused.message,
            Self::InvalidPolicy(refusal) => refusal.to_string(),
            Self::Unauthorized(text) | Self::ForeignPage(text) => text.to_owned(),
            Self::Forbidden => "this API key is read-only: send a read-write key".to_owned(),
            Self::MethodNotAllowed => "this path has no such method: see the header `Allow`".to_owned(),
            Self::SlowBody(limit) => {
                format!("the body did not arrive within {} s: send it again", limit.as_secs_f64())
            }
            Self::UnsupportedMediaType => {
                "the body must be sent as `Content-Type: application/json`".to_owned()
            }
            Self::TooManyRequests { each_second, .. } => {
                format!("this key is over its rate limit of {each_second} requests per second: {WAIT}")
            }
            Self::TooManySignIns(wait) => {
                format!("too many attempts to sign in: try again in {} s", whole_seconds(wait))
            }
            Self::Internal(_) => {
                "internal error; the service's log has the details under this request's id".to_owned()
            }
            Self::Unavailable(_) => format!("the service is not available at the moment: {WAIT}"),
            Self::CannotStore(_) => {
                "nothing can be stored at the moment, because the disk is full: free space on it; \
                questions are still answered"
                    .to_owned()
            }
            Self::WritesStopped(_) => {
                "nothing can be stored until the service is started again, because its disk failed, its file \
                is damaged, or it has a bug: see its log, check the disk, and start it again; questions are still \
                answered"
                    .to_owned()
            }
            Self::FilesMoved(_) => {
                "nothing can be stored: files of the store were removed or replaced, or changed by another \
                program; put them back, and start the service again; questions are still answered"
                    .to_owned()
            }
            Self::RestartRequired(_) => {
                "this node has seen writes that the database lost when another server took over or a backup was \
                restored: ask another node, or start this one again; then check what the last writes were"
                    .to_owned()
            }
            Self::UpgradeRequired(_) => {
                "the store was migrated, and this node is too old for it: ask another node, or upgrade this one \
                to the release that migrated the store"
                    .to_owned()
            }
        }
    }

    /// Whether the request is at fault, not the service.
    pub(super) fn is_client_error(&self) -> bool {
        self.code().status().is_client_error()
    }

    /// The status and the message, for an answer that contains several.
    pub(super) fn into_parts(self) -> (StatusCode, String) {
        (self.code().status(), self.into_message())
    }

    /// Who has to do something about it.
    fn remedy(&self) -> Remedy<'_> {
        match self {
            Self::InvalidJson(_)
            | Self::BadRequest(_)
            | Self::Refused(_)
            | Self::UnknownPredicate(_)
            | Self::Timeout(_)
            | Self::InvalidBindings(_)
            | Self::Contradiction(_)
            | Self::InvalidPolicy(_)
            | Self::Unauthorized(_)
            | Self::Forbidden
            | Self::ForeignPage(_)
            | Self::NotFound(_)
            | Self::MethodNotAllowed
            | Self::LostWrite(_)
            | Self::SlowBody(_)
            | Self::TooLarge(_)
            | Self::UnsupportedMediaType => Remedy::OtherRequest,
            Self::TooManyRequests { wait, .. } | Self::TooManySignIns(wait) => Remedy::Later(*wait),
            Self::Internal(cause) => Remedy::Correction(cause),
            // Another node may answer what this one cannot.
            Self::Unavailable(cause)
            | Self::CannotStore(cause)
            | Self::RestartRequired(cause)
            | Self::UpgradeRequired(cause) => Remedy::Retry(cause),
            Self::WritesStopped(cause) | Self::FilesMoved(cause) => Remedy::Restart(cause),
        }
    }

    /// Logs faults of the service.
    fn log(&self) {
        match self.remedy() {
            Remedy::OtherRequest | Remedy::Later(_) => {}
            Remedy::Correction(cause) => tracing::error!(cause, "request failed"),
            Remedy::Retry(cause) => tracing::warn!(cause, "request temporarily refused"),
            Remedy::Restart(cause) => tracing::warn!(cause, "request refused until the next start"),
        }
    }

    /// After how many seconds the client may try again, if that can help.
    fn retry_after(&self) -> Option<u64> {
        match self.remedy() {
            Remedy::Later(wait) => Some(whole_seconds(wait)),
            Remedy::Retry(_) => Some(RETRY_SECONDS),
            Remedy::OtherRequest | Remedy::Correction(_) | Remedy::Restart(_) => None,
        }
    }

    /// The answer, with a body made from code and message.
    pub(super) fn answer<B: Serialize + Send + 'static>(
        self,
        body: impl FnOnce(ErrorCode, String) -> B,
    ) -> Response {
        self.log();
        let retry = self.retry_after();
        let code = self.code();
        let status = code.status();
        let message = self.into_message();
        let mut response = with_status(status, body(code, message.clone()));
        response.extensions_mut().insert(ErrorMessage(message));
        if let Some(seconds) = retry {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// The message of an error, kept with its answer for other forms of bodies.
#[derive(Clone, Debug)]
pub(super) struct ErrorMessage(pub(super) String);

/// The body of an error.
#[derive(Debug, Serialize)]
struct ErrorBody {
    message: String,
    code: ErrorCode,
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        self.answer(|code, message| ErrorBody { message, code })
    }
}

impl From<NoRoom> for ApiError {
    fn from(refused: NoRoom) -> Self {
        match refused {
            NoRoom::Now => Self::Unavailable("the memory for requests is used up".to_owned()),
            NoRoom::Ever(most) => Self::TooLarge(format!(
                "the request takes more than the {most} bytes of memory that one request may use: ask for less at once, or raise `max_memory`"
            )),
        }
    }
}

impl From<Lost> for ApiError {
    fn from(lost: Lost) -> Self {
        Self::Internal(lost.to_string())
    }
}

impl From<EngineError> for ApiError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::BadRequest(text) => Self::BadRequest(text),
            EngineError::Refused(refused) => Self::Refused(refused),
            EngineError::UnknownPredicate { .. } => Self::UnknownPredicate(error.to_string()),
            EngineError::Bindings(text) => Self::InvalidBindings(text),
            EngineError::Contradiction(text) => Self::Contradiction(text),
            EngineError::Timeout(text) => Self::Timeout(text),
            EngineError::NotFound(text) => Self::NotFound(text),
            EngineError::TooLarge(text) => Self::TooLarge(text),
            EngineError::Policy(refusal) => Self::InvalidPolicy(refusal),
            EngineError::Bug(text) => Self::Internal(text),
            EngineError::Store(error) => error.into(),
        }
    }
}

impl From<EngineError> for ErrorCode {
    fn from(error: EngineError) -> Self {
        ApiError::from(error).code()
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::EnvironmentName(_)
            | StoreError::KeyName
            | StoreError::PolicyText
            | StoreError::NoArguments(_)
            | StoreError::LongIds(_) => Self::BadRequest(error.to_string()),
            StoreError::Timeout(_) | StoreError::TooManyReadings => EngineError::from(error).into(),
            StoreError::TooLarge(_) | StoreError::Reach { .. } => Self::TooLarge(error.to_string()),
            StoreError::Busy | StoreError::Overloaded(_) | StoreError::Closed => {
                Self::Unavailable(error.to_string())
            }
            StoreError::Database(DatabaseError::LostWrite { .. }) => Self::LostWrite(error.to_string()),
            // Its keys went with it.
            StoreError::Database(DatabaseError::NoEnvironment(_)) => Self::Unauthorized(UNKNOWN_KEY),
            StoreError::Database(DatabaseError::NoTable(_)) => Self::Internal(error.to_string()),
            StoreError::Database(DatabaseError::TakenOver { .. }) => Self::RestartRequired(error.to_string()),
            StoreError::Database(DatabaseError::Outdated { .. } | DatabaseError::NewerSchema { .. }) => {
                Self::UpgradeRequired(error.to_string())
            }
            StoreError::Locked(_) | StoreError::Database(_) => Self::Unavailable(error.to_string()),
            StoreError::Full => Self::CannotStore(error.to_string()),
            StoreError::ReadOnly(_) => Self::WritesStopped(error.to_string()),
            StoreError::Moved(_) => Self::FilesMoved(error.to_string()),
            StoreError::Io(_)
            | StoreError::IoAt { .. }
            | StoreError::Unreadable { .. }
            | StoreError::System(_)
            | StoreError::Corrupt(_)
            | StoreError::Damaged { .. }
            | StoreError::Lost { .. }
            | StoreError::NotAStore(_)
            | StoreError::OtherName { .. }
            | StoreError::Missing(_)
            | StoreError::Exists(_)
            | StoreError::FileExists(_)
            | StoreError::BadBackup { .. }
            | StoreError::NewerFormat { .. }
            | StoreError::OlderFormat { .. }
            | StoreError::NotMigrated { .. }
            | StoreError::Bug(_) => Self::Internal(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_asked_to_wait_only_if_waiting_can_help() {
        let asks = |error: StoreError| {
            let response = ApiError::from(error).into_response();
            assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
            response.headers().contains_key(RETRY_AFTER)
        };
        let reason = || "a reason".to_owned();
        assert!(asks(StoreError::Busy) && asks(StoreError::Full));
        assert!(!asks(StoreError::Moved(reason())) && !asks(StoreError::ReadOnly(reason())));
        let message = ApiError::from(StoreError::ReadOnly(reason())).into_message();
        assert!(message.contains("until the service is started again"), "{message}");
    }
}

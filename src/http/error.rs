//! Every way in which a request can fail, and the answer it gets.
//!
//! One enum, a variant a status. Every answer is JSON with a text `message`: the clients read that field
//! without looking. What is the requester's to know is said in full; what is ours (500, 503) goes to the
//! log, inside the span that carries the request's id, and the answer says no more than that it is ours.
//! `POST /policy` has a wider form, with `error_type`, in [`PolicyError`].

use std::{num::NonZeroU32, time::Duration};

use axum::{
    http::{
        HeaderValue, StatusCode,
        header::{RETRY_AFTER, WWW_AUTHENTICATE},
    },
    response::{IntoResponse, Response},
};
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    json::{Message, with_status},
    rate::whole_seconds,
};
use crate::{
    engine::{EngineError, PolicyRefusal},
    share::{Lost, NoRoom},
    store::StoreError,
};

/// After how many seconds a client may try again what was refused for the moment.
const RETRY_SECONDS: u64 = 1;

/// Why a request failed.
#[derive(Debug)]
pub(super) enum ApiError {
    /// 400: the body, a parameter or a value is wrong, or the question cannot be answered.
    BadRequest(String),
    /// 401: no key, or none that is known.
    Unauthorized(&'static str),
    /// 403: a read-only key on a mutation.
    Forbidden,
    /// 404: no such path or version.
    NotFound(String),
    /// 405: the path exists, the method does not.
    MethodNotAllowed,
    /// 408: the body did not arrive in this time.
    SlowBody(Duration),
    /// 413: over a limit, which the text names.
    TooLarge(String),
    /// 415: the body is not `application/json`.
    UnsupportedMediaType,
    /// 429: the key is over its rate, and may ask again after this wait.
    TooManyRequests { each_second: NonZeroU32, wait: Duration },
    /// 500: our fault; the text is for the log.
    Internal(String),
    /// 503: we cannot at the moment; the text is for the log.
    Unavailable(String),
    /// 503: we can answer but not write; the text is for the log.
    CannotStore(String),
    /// 503: the same, as the store's files are not where they were; the text is for the log.
    FilesMoved(String),
}

impl ApiError {
    fn status(&self) -> StatusCode {
        match self {
            Self::BadRequest(_) => StatusCode::BAD_REQUEST,
            Self::Unauthorized(_) => StatusCode::UNAUTHORIZED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::SlowBody(_) => StatusCode::REQUEST_TIMEOUT,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooManyRequests { .. } => StatusCode::TOO_MANY_REQUESTS,
            Self::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Unavailable(_) | Self::CannotStore(_) | Self::FilesMoved(_) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
        }
    }

    /// What the requester may know.
    fn into_message(self) -> String {
        match self {
            Self::BadRequest(text) | Self::NotFound(text) | Self::TooLarge(text) => text,
            Self::Unauthorized(text) => text.to_owned(),
            Self::Forbidden => "this API key is read-only".to_owned(),
            Self::MethodNotAllowed => "this path has no such method".to_owned(),
            Self::SlowBody(limit) => format!("the body did not arrive within {} s", limit.as_secs_f64()),
            Self::UnsupportedMediaType => {
                "the body must be sent as `Content-Type: application/json`".to_owned()
            }
            Self::TooManyRequests { each_second, .. } => {
                format!("over the rate of {each_second} requests a second for a key")
            }
            Self::Internal(_) => "internal error, which is logged under this request's id".to_owned(),
            Self::Unavailable(_) => "the service is not available at the moment".to_owned(),
            Self::CannotStore(_) => "nothing can be stored at the moment: the disk is full or failing; \
                questions are still answered"
                .to_owned(),
            Self::FilesMoved(_) => {
                "nothing can be stored until the service is started again: files of the store \
                were removed or replaced; questions are still answered"
                    .to_owned()
            }
        }
    }

    /// Logs what is our fault.
    fn log(&self) {
        match self {
            Self::Internal(cause) => tracing::error!(cause, "request failed"),
            Self::Unavailable(cause) | Self::CannotStore(cause) | Self::FilesMoved(cause) => {
                tracing::warn!(cause, "request refused for the moment");
            }
            Self::BadRequest(_)
            | Self::Unauthorized(_)
            | Self::Forbidden
            | Self::NotFound(_)
            | Self::MethodNotAllowed
            | Self::SlowBody(_)
            | Self::TooLarge(_)
            | Self::UnsupportedMediaType
            | Self::TooManyRequests { .. } => {}
        }
    }

    /// The answer, whose body is made from the message.
    fn answer<B: Serialize + Send + 'static>(self, body: impl FnOnce(String) -> B) -> Response {
        self.log();
        let retry = match self {
            Self::TooManyRequests { wait, .. } => Some(whole_seconds(wait)),
            Self::Unavailable(_) | Self::CannotStore(_) | Self::FilesMoved(_) => Some(RETRY_SECONDS),
            _ => None,
        };
        let status = self.status();
        let mut response = with_status(status, body(self.into_message()));
        if let Some(seconds) = retry {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        self.answer(|message| Message { message })
    }
}

impl From<NoRoom> for ApiError {
    fn from(refused: NoRoom) -> Self {
        match refused {
            NoRoom::Now => Self::Unavailable("requests hold as much memory as they may".to_owned()),
            NoRoom::Ever(most) => {
                Self::TooLarge(format!("the request takes more than the {most} bytes of memory that one may"))
            }
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
            EngineError::BadRequest(text) | EngineError::Timeout(text) => Self::BadRequest(text),
            EngineError::NotFound(text) => Self::NotFound(text),
            EngineError::TooLarge(text) => Self::TooLarge(text),
            EngineError::Policy(refusal) => Self::BadRequest(refusal.to_string()),
            EngineError::Bug(text) => Self::Internal(text),
            EngineError::Store(error) => error.into(),
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Invalid(text) => Self::BadRequest(text),
            StoreError::Timeout(_) => Self::BadRequest(error.to_string()),
            StoreError::TooDeep => Self::BadRequest(error.to_string()),
            StoreError::TooLarge(_) | StoreError::Reach { .. } => Self::TooLarge(error.to_string()),
            StoreError::Busy | StoreError::Overloaded(_) | StoreError::Closed | StoreError::Locked(_) => {
                Self::Unavailable(error.to_string())
            }
            StoreError::Full | StoreError::ReadOnly(_) => Self::CannotStore(error.to_string()),
            StoreError::Moved(_) => Self::FilesMoved(error.to_string()),
            StoreError::Io(_)
            | StoreError::Corrupt(_)
            | StoreError::Damaged { .. }
            | StoreError::Lost { .. }
            | StoreError::NotAStore(_)
            | StoreError::Missing(_)
            | StoreError::Exists(_)
            | StoreError::BadBackup { .. }
            | StoreError::NewerFormat { .. }
            | StoreError::OlderFormat { .. }
            | StoreError::NotMigrated { .. }
            | StoreError::Bug(_) => Self::Internal(error.to_string()),
        }
    }
}

/// Why `POST /policy` failed: each form says its `error_type`.
#[derive(Debug)]
pub(super) enum PolicyError {
    /// The request failed as any other might.
    Generic(ApiError),
    /// The policy was refused, and the active one stays.
    Refused(PolicyRefusal),
}

impl From<ApiError> for PolicyError {
    fn from(error: ApiError) -> Self {
        Self::Generic(error)
    }
}

impl From<EngineError> for PolicyError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Policy(refusal) => Self::Refused(refusal),
            EngineError::BadRequest(_)
            | EngineError::NotFound(_)
            | EngineError::TooLarge(_)
            | EngineError::Timeout(_)
            | EngineError::Store(_)
            | EngineError::Bug(_) => Self::Generic(error.into()),
        }
    }
}

/// One entry of a refused policy.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ValidationFailure {
    error_type: &'static str,
    message: String,
}

/// How one policy test ended.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TestResult)]
pub(super) struct TestJson {
    name: String,
    passed: usize,
    total: usize,
}

/// How the tests of a policy ended.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct TestResults {
    success: bool,
    errors: Vec<String>,
    tests: Vec<TestJson>,
}

/// The body of a failed `POST /policy`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PolicyError)]
#[serde(tag = "error_type")]
pub(super) enum PolicyErrorBody {
    Generic {
        message: String,
    },
    #[serde(rename = "Validation")]
    Invalid {
        message: String,
        errors: Vec<ValidationFailure>,
    },
    TestsFailed {
        message: String,
        test_results: TestResults,
    },
}

impl IntoResponse for PolicyError {
    fn into_response(self) -> Response {
        let body = match self {
            Self::Generic(error) => return error.answer(|message| PolicyErrorBody::Generic { message }),
            Self::Refused(PolicyRefusal::Validation { message, errors }) => PolicyErrorBody::Invalid {
                message,
                errors: errors
                    .into_iter()
                    .map(|message| ValidationFailure { error_type: "ValidationFailed", message })
                    .collect(),
            },
            Self::Refused(PolicyRefusal::Tests { message, report }) => PolicyErrorBody::TestsFailed {
                message,
                test_results: TestResults {
                    success: false,
                    errors: report.errors,
                    tests: report
                        .tests
                        .into_iter()
                        .map(|test| TestJson { name: test.name, passed: test.passed, total: test.total })
                        .collect(),
                },
            },
        };
        with_status(StatusCode::BAD_REQUEST, body)
    }
}

//! The errors of `POST /policy`: each form has its `error_type`.

use super::code::ErrorCode;
use super::error::ApiError;
use super::json::with_status;
use crate::engine::{EngineError, PolicyRefusal};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

/// Why `POST /policy` failed.
#[derive(Debug)]
pub(super) enum PolicyError {
    /// The request failed like any other.
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
            | EngineError::Refused(_)
            | EngineError::UnknownPredicate { .. }
            | EngineError::Bindings(_)
            | EngineError::Contradiction(_)
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

/// The result of one policy test.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TestResult)]
pub(super) struct TestJson {
    name: String,
    passed: usize,
    total: usize,
}

/// The results of a policy's tests.
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
        code: ErrorCode,
    },
    #[serde(rename = "Validation")]
    Invalid {
        message: String,
        code: ErrorCode,
        errors: Vec<ValidationFailure>,
    },
    TestsFailed {
        message: String,
        code: ErrorCode,
        test_results: TestResults,
    },
}

impl From<PolicyRefusal> for PolicyErrorBody {
    fn from(refusal: PolicyRefusal) -> Self {
        let code = ErrorCode::from(&refusal);
        let failure = |message| ValidationFailure { error_type: "ValidationFailed", message };
        match refusal {
            PolicyRefusal::Validation { message, errors }
            | PolicyRefusal::UnreadFacts { message, errors } => {
                Self::Invalid { code, message, errors: errors.into_iter().map(failure).collect() }
            }
            PolicyRefusal::Tests { message, report } => {
                let errors = report.errors();
                let tests = report.tests.into_iter();
                let tests =
                    tests.map(|test| TestJson { name: test.name, passed: test.passed, total: test.total });
                let test_results = TestResults { success: false, errors, tests: tests.collect() };
                Self::TestsFailed { code, message, test_results }
            }
        }
    }
}

impl IntoResponse for PolicyError {
    fn into_response(self) -> Response {
        match self {
            Self::Generic(error) => error.answer(|code, message| PolicyErrorBody::Generic { code, message }),
            Self::Refused(refusal) => with_status(StatusCode::BAD_REQUEST, PolicyErrorBody::from(refusal)),
        }
    }
}

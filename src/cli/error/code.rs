//! The codes of errors under `--format json`: those of the HTTP interface, and some that only commands have.
//!
//! What each means and what to do is in `docs/errors.md`, which a test compares with this list.

use super::CliError;
use crate::cli::restore::RestoreError;
use crate::engine::EngineError;
use crate::http::ErrorCode;
use crate::store::{DatabaseError, StoreError};
use std::borrow::Cow;

/// Declares the codes with their names.
macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// The code of an error that only commands report.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(in crate::cli) enum CommandCode {
            $($(#[$doc])* $variant,)*
        }

        impl CommandCode {
            /// All codes.
            #[cfg(test)]
            const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The code as it is written.
            pub(in crate::cli) fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

codes! {
    /// Arguments are wrong, missing, or do not go together.
    InvalidArguments = "invalid_arguments",
    /// A question, or a value in one, cannot be read or asked.
    InvalidQuestion = "invalid_question",
    /// A fact in an argument or a file cannot be read.
    InvalidFact = "invalid_fact",
    /// No test has the wanted name.
    NoTest = "no_test",
    /// The settings cannot be used.
    InvalidSettings = "invalid_settings",
    /// A file or a stream cannot be read or written.
    FileError = "file_error",
    /// A file was changed by someone else.
    FileChanged = "file_changed",
    /// A folder has no policy files.
    NoPolicyFile = "no_policy_file",
    /// The layout of a file prevents its correction.
    NotCorrectable = "not_correctable",
    /// A file is not the decision log.
    InvalidDecisionLog = "invalid_decision_log",
    /// The decision log has no decision for the request.
    UnknownRequest = "unknown_request",
    /// A request was decided in a different environment than that of the key or the folder.
    OtherEnvironment = "other_environment",
    /// The data folder does not have the version of the policy that decided.
    UnknownVersion = "unknown_version",
    /// The record of an interrupted import does not fit.
    CannotResume = "cannot_resume",
    /// The data folder has no such environment.
    UnknownEnvironment = "unknown_environment",
    /// A service has the environment open.
    EnvironmentInUse = "environment_in_use",
    /// The store of an environment is damaged, or of another release, or its database cannot be used.
    UnusableStore = "unusable_store",
    /// There is no key for the service.
    NoKey = "no_key",
    /// What was given is not a key.
    InvalidKey = "invalid_key",
    /// The service has no policy yet.
    NoPolicy = "no_policy",
    /// The service does not answer.
    ServiceUnreachable = "service_unreachable",
    /// The answer is not that of a Portcullis service.
    UnexpectedAnswer = "unexpected_answer",
    /// The PostgreSQL of the store does not answer, or does not let the command in.
    StoreUnreachable = "store_unreachable",
    /// The caller's own database does not answer, or answers with an error.
    DatabaseError = "database_error",
}

impl CliError {
    /// What kind of error it is, for programs.
    pub(in crate::cli) fn code(self) -> Cow<'static, str> {
        let code = match self {
            Self::At { error, .. } => return error.code(),
            Self::Unanswered { code, .. } => return said_by_service(code),
            Self::Service(error) | Self::GaveUp { error, .. } => return error.code(),
            Self::Restore(RestoreError::NotServed { code, .. }) => return said_by_service(code),
            Self::Engine(error) => return of_engine(error),
            Self::Store(error) => return of_store(error),
            Self::TooLong { .. } | Self::LongPolicy { .. } => return of_interface(ErrorCode::LimitExceeded),
            Self::TooManyTables(_) | Self::ManyStatements => {
                return of_interface(ErrorCode::QuestionTooLarge);
            }
            Self::Policy(_) => return of_interface(ErrorCode::InvalidPolicy),
            Self::Bindings { .. } | Self::OtherDatabase { .. } => {
                return of_interface(ErrorCode::InvalidBindings);
            }
            Self::Unformatted(_) => return of_interface(ErrorCode::InternalError),
            Self::Unreadable { .. }
            | Self::Unwritable { .. }
            | Self::Exists { .. }
            | Self::Output { .. }
            | Self::OutputClosed
            | Self::AdminSocket { .. }
            | Self::Listen { .. }
            | Self::Threads(_)
            | Self::Editor(_)
            | Self::Key(_)
            | Self::Session(_)
            | Self::DecisionLog(_) => CommandCode::FileError,
            Self::Argument(error) => error.code(),
            Self::Usage(_) => CommandCode::InvalidArguments,
            Self::Unexplained { .. } => CommandCode::InvalidQuestion,
            Self::Fact { .. } | Self::Input { .. } => CommandCode::InvalidFact,
            Self::NoTest(_) => CommandCode::NoTest,
            Self::Config(_)
            | Self::Tls(_)
            | Self::Traces(_)
            | Self::Precaution(_)
            | Self::NoUserFolder
            | Self::Login { .. } => CommandCode::InvalidSettings,
            Self::Changed(_) => CommandCode::FileChanged,
            Self::NoPolicyFile(_) => CommandCode::NoPolicyFile,
            Self::NotCorrectable { .. } => CommandCode::NotCorrectable,
            Self::Logged(error) => error.code(),
            Self::Resume(_) => CommandCode::CannotResume,
            Self::Restore(RestoreError::NoBackup(_) | RestoreError::Exists(_)) => CommandCode::FileError,
            Self::Restore(RestoreError::Served(_)) => CommandCode::EnvironmentInUse,
            Self::NoEnvironment(_) => CommandCode::UnknownEnvironment,
            Self::FolderInUse(_) => CommandCode::EnvironmentInUse,
            Self::Database { .. } | Self::Answered { .. } => CommandCode::DatabaseError,
        };
        code.as_str().into()
    }
}

fn of_interface(code: ErrorCode) -> Cow<'static, str> {
    code.as_str().into()
}

/// The code in an answer. A server that sends none is not a Portcullis service, or of an earlier release.
pub(super) fn said_by_service(code: String) -> Cow<'static, str> {
    if code.is_empty() { CommandCode::UnexpectedAnswer.as_str().into() } else { code.into() }
}

fn of_engine(error: EngineError) -> Cow<'static, str> {
    match error {
        EngineError::Store(error) => of_store(error),
        error => of_interface(error.into()),
    }
}

/// The code of an error of a store that the command opened itself.
pub(in crate::cli) fn of_store(error: StoreError) -> Cow<'static, str> {
    let code = match error {
        StoreError::Missing(_) => CommandCode::UnknownEnvironment,
        StoreError::Locked(_) => CommandCode::EnvironmentInUse,
        StoreError::EnvironmentName(_) | StoreError::KeyName | StoreError::PolicyText => {
            CommandCode::InvalidArguments
        }
        StoreError::Io(_)
        | StoreError::IoAt { .. }
        | StoreError::Unreadable { .. }
        | StoreError::System(_)
        | StoreError::Full
        | StoreError::ReadOnly(_)
        | StoreError::Exists(_)
        | StoreError::FileExists(_) => CommandCode::FileError,
        StoreError::Corrupt(_)
        | StoreError::Damaged { .. }
        | StoreError::Lost { .. }
        | StoreError::Moved(_)
        | StoreError::NotAStore(_)
        | StoreError::OtherName { .. }
        | StoreError::BadBackup { .. }
        | StoreError::NewerFormat { .. }
        | StoreError::OlderFormat { .. }
        | StoreError::NotMigrated { .. } => CommandCode::UnusableStore,
        StoreError::NoArguments(_)
        | StoreError::LongIds(_)
        | StoreError::Timeout(_)
        | StoreError::TooManyReadings
        | StoreError::TooLarge(_)
        | StoreError::Reach { .. }
        | StoreError::Busy
        | StoreError::Overloaded(_)
        | StoreError::Closed
        | StoreError::Bug(_) => return of_interface(EngineError::from(error).into()),
        StoreError::Database(error) => of_database(&error),
    };
    code.as_str().into()
}

/// The code of an error of a store in PostgreSQL.
fn of_database(error: &DatabaseError) -> CommandCode {
    match error {
        DatabaseError::Address(_) => CommandCode::InvalidArguments,
        DatabaseError::Unreachable { .. }
        | DatabaseError::Encryption { .. }
        | DatabaseError::Login { .. }
        | DatabaseError::NoDatabase { .. }
        | DatabaseError::Crowded(_)
        | DatabaseError::Standby(_)
        | DatabaseError::ReadOnly(_)
        | DatabaseError::NoMoreWrites(_)
        | DatabaseError::Behind { .. }
        | DatabaseError::LostWrite { .. }
        | DatabaseError::TakenOver { .. }
        | DatabaseError::UnknownWrite
        | DatabaseError::Locked(_) => CommandCode::StoreUnreachable,
        DatabaseError::NoEnvironment(_) => CommandCode::UnknownEnvironment,
        DatabaseError::OldServer(_)
        | DatabaseError::Pooler(_)
        | DatabaseError::Encoding(_)
        | DatabaseError::Literals { .. }
        | DatabaseError::Rights { .. }
        | DatabaseError::NoSchema
        | DatabaseError::NoTable(_)
        | DatabaseError::ForeignSchema(_)
        | DatabaseError::OlderSchema { .. }
        | DatabaseError::NewerSchema { .. }
        | DatabaseError::Outdated { .. } => CommandCode::UnusableStore,
    }
}

#[cfg(test)]
mod tests {
    use super::CommandCode;
    use std::fs;
    use std::path::Path;

    /// The last table of the page has these codes; the other tables have one more column, the status.
    #[test]
    fn the_page_has_every_code_in_order_with_a_meaning_and_a_remedy() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/errors.md");
        let page = fs::read_to_string(page).unwrap();
        let (_, page) = page.split_once("\n## Commands\n").unwrap();
        let mut described = Vec::new();
        for row in page.lines().filter(|line| line.starts_with("| `")) {
            let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
            let [code, meaning, remedy] = cells[..] else { panic!("{row}") };
            assert!(meaning.ends_with('.') && remedy.ends_with('.'), "{row}");
            described.push(code.trim_matches('`').to_owned());
        }
        let codes: Vec<&str> = CommandCode::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(described, codes);
    }
}

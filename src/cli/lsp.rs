//! `portcullis lsp`: the language server for editors.

use super::bindings::editor;
use super::error::CliError;
use super::{Verdict, serve};
use crate::engine::{self, Engine, EngineError, EngineSettings};
use crate::lsp::{self, LiveFinding, Ran, Schema, Settings, Workbench};
use lsp_server::Connection;
use portcullis_compiler::ir::Program;
use portcullis_compiler::question::Question;
use portcullis_compiler::{Dialect, compile_text};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;
use tokio::runtime::Handle;

/// The pages of diagnostic codes in the sources from which the program was built.
const PAGES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/diagnostics");

/// Run the language server for editors
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The editor starts the command and speaks the Language Server Protocol with it on the \
standard input and output. docs/editors.md says how to set it up.

Examples:
  portcullis lsp
  portcullis lsp --database postgresql:///app
  nvim policy.polar    # with the lines of docs/editors.md in its settings"
)]
pub(super) struct Args {
    /// Use the standard input and output, which is the default; some editors pass this flag
    #[arg(long)]
    stdio: bool,
    /// The address of the folder fixtures/diagnostics, to which the codes of diagnostics link; without it,
    /// the sources from which the program was built, if they are still there
    #[arg(long, value_name = "URL")]
    pages: Option<String>,
    /// The dialect of the SQL of a rule: sqlite or postgresql
    #[arg(long, default_value_t = Dialect::Sqlite)]
    dialect: Dialect,
    /// A database to compare data bindings with, and to complete tables and columns from; no rows are read:
    /// postgresql://[USER[:PASSWORD]@][HOST[:PORT]]/[NAME], or sqlite:FILE
    #[arg(long, value_name = "URL")]
    database: Option<String>,
}

pub(super) fn run(Args { stdio: _, pages, dialect, database }: Args) -> Result<Verdict, CliError> {
    let runtime = serve::runtime()?;
    let program = CliWorkbench::new(runtime.handle().clone(), dialect, database);
    program.refresh_schema();
    let pages = pages.or_else(|| Path::new(PAGES).is_dir().then(|| format!("file://{PAGES}")));
    let (connection, threads) = Connection::stdio();
    let settings = Settings { workbench: &program, pages: pages.as_deref() };
    lsp::serve(&connection, settings)?;
    // The threads end when the connection does.
    drop(connection);
    threads.join().map_err(CliError::Editor)?;
    Ok(Verdict::Good)
}

/// How long an editor waits for the tables of the database.
const WAIT: Duration = Duration::from_secs(2);

/// The tables of a database, and what notifies that they have been read.
type KeptSchema = (Mutex<Option<Result<Schema, String>>>, Condvar);

/// Runs tests and compiles SQL for the language server, on threads that are not those of the runtime.
pub(super) struct CliWorkbench {
    runtime: Handle,
    dialect: Dialect,
    /// The database of data bindings.
    database: Option<String>,
    /// Its tables, or why they cannot be read; `None` until they have been read.
    schema: Arc<KeptSchema>,
}

impl CliWorkbench {
    pub(super) fn new(runtime: Handle, dialect: Dialect, database: Option<String>) -> Self {
        Self { runtime, dialect, database, schema: Arc::default() }
    }
}

impl Workbench for CliWorkbench {
    fn run_test(&self, program: Program) -> Result<Ran, String> {
        let report = self.runtime.block_on(async {
            let engine = Engine::in_memory(EngineSettings::default()).await?;
            engine.test_policy(&Arc::new(program), false).await
        });
        let report = report.map_err(|error| error.to_string())?;
        let test = report.tests.into_iter().next().ok_or("the test did not run")?;
        Ok(Ran { passed: test.passed, total: test.total, failures: test.failures })
    }

    fn sql(&self, program: &Program, question: &Question) -> Result<String, String> {
        let catalog = engine::review_tables(program).map_err(|error| error.to_string())?;
        let statement = compile_text(program, &catalog, question, self.dialect, engine::unix_time());
        let statement = statement.map_err(|error| EngineError::uncompiled(error, question).to_string())?;
        Ok(format!("{};", statement.sql.trim_end()))
    }

    fn schema(&self) -> Result<Schema, String> {
        if self.database.is_none() {
            return Ok(Schema::default());
        }
        let (schema, is_read) = &*self.schema;
        let kept = schema.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = is_read.wait_timeout_while(kept, WAIT, |kept| kept.is_none());
        let (kept, _) = waited.unwrap_or_else(PoisonError::into_inner);
        kept.clone().unwrap_or_else(|| Err("the database has not answered yet".to_owned()))
    }

    fn check_bindings(&self, text: String, then: Box<dyn FnOnce(Vec<LiveFinding>) + Send>) {
        let Some(url) = self.database.clone() else { return };
        let runtime = self.runtime.clone();
        std::thread::spawn(move || {
            if let Some(found) = runtime.block_on(editor::findings(&url, &text)) {
                then(found);
            }
        });
    }

    fn refresh_schema(&self) {
        let Some(url) = self.database.clone() else { return };
        let (runtime, kept) = (self.runtime.clone(), Arc::clone(&self.schema));
        // Reading from a server has a time limit, so this thread ends.
        std::thread::spawn(move || {
            let read = runtime.block_on(editor::schema(&url)).map_err(|error| error.to_string());
            let (schema, is_read) = &*kept;
            *schema.lock().unwrap_or_else(PoisonError::into_inner) = Some(read);
            is_read.notify_all();
        });
    }
}

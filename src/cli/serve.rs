//! `portcullis serve`: the service.

use super::error::CliError;
use super::{Verdict, output, policy_file};
use crate::config::Config;
use crate::engine::{Engine, EngineSettings, PolicyOptions, open_environments};
use crate::http::{self, AppState, DEFAULT_ENVIRONMENT, DEVELOPMENT_KEY, Environment};
use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// Answer authorization questions over HTTP
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Every setting can also come from a variable of the environment, PORTCULLIS_LISTEN and so on;
what is given here wins. Keys are made with `portcullis keys create`.

Examples:
  portcullis serve --dev --policy policy.polar
  portcullis serve --listen 0.0.0.0:8081 --data /var/lib/portcullis"
)]
pub(super) struct Args {
    /// Where to listen [default: 127.0.0.1:8081]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// The data folder [default: ./portcullis-data]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Accept the development key that the clients' test suites use
    #[arg(long)]
    dev: bool,
    /// A policy file to make active before the first request
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// The most values of stored facts in one condition of SQL that is returned [default: 10000]
    #[arg(long, value_name = "COUNT")]
    embedded_values: Option<usize>,
}

pub(super) fn run(args: Args) -> Result<Verdict, CliError> {
    let defaults = Config::from_environment()?;
    let config = Config {
        listen: args.listen.unwrap_or(defaults.listen),
        data: args.data.unwrap_or(defaults.data),
        dev: args.dev || defaults.dev,
        policy: args.policy.or(defaults.policy),
        embedded_values: args.embedded_values.unwrap_or(defaults.embedded_values),
        ..defaults
    };
    log_to_stderr(&config.log);
    runtime()?.block_on(serve(config))
}

/// The threads on which a command waits for its answers.
pub(super) fn runtime() -> Result<Runtime, CliError> {
    let built = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    built.map_err(|error| CliError::Io { what: "no threads for the runtime".into(), error })
}

async fn serve(config: Config) -> Result<Verdict, CliError> {
    let settings = EngineSettings {
        query_time: config.query_time,
        context_facts: config.max_context_facts,
        batch_facts: config.max_batch,
        delete_reach: config.max_delete,
        embedded_values: config.embedded_values,
        ..EngineSettings::default()
    };
    let environments = open_environments(&config.data, DEFAULT_ENVIRONMENT, &settings).await?;
    if let Some(path) = &config.policy
        && let Some((_, engine)) = environments.first()
    {
        load(engine, path).await?;
    }
    let environments = environments.into_iter().map(|(name, engine)| Environment { name, engine });
    let cannot_listen = |error| CliError::Io { what: format!("cannot listen on {}", config.listen), error };
    let listener = TcpListener::bind(config.listen).await.map_err(cannot_listen)?;
    let address = listener.local_addr().map_err(cannot_listen)?;
    if let Err(error) = output::to_stdout(&welcome(address, &config)) {
        tracing::warn!(%error, %address, "answers without having said so");
    }
    let state = Arc::new(AppState::new(config, environments));
    http::serve(listener, state, stop_signal()).await;
    Ok(Verdict::Good)
}

/// Makes a file's policy the active one.
async fn load(engine: &Engine, path: &Path) -> Result<(), CliError> {
    let src = policy_file::read(path)?;
    let outcome = engine.set_policy(src, path.display().to_string(), PolicyOptions::default()).await?;
    tracing::info!(file = %path.display(), version = outcome.version, "{}", outcome.message);
    Ok(())
}

/// What is said once the service answers.
fn welcome(address: SocketAddr, config: &Config) -> String {
    let base = format!("http://{address}/api");
    let answers = format!("portcullis answers on {base}, its data is in {}", config.data.display());
    if !config.dev {
        return answers;
    }
    let key = DEVELOPMENT_KEY;
    format!(
        "{answers}\ndevelopment mode: everybody knows the key {key}, try\n  \
         curl -H 'Authorization: Bearer {key}' {base}/policy"
    )
}

fn log_to_stderr(filter: &str) {
    let filter = tracing_subscriber::EnvFilter::builder().parse_lossy(filter);
    let colours = std::io::stderr().is_terminal();
    let subscriber =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(colours);
    // A second subscriber is refused; the first goes on.
    let _ = subscriber.try_init();
}

/// Ready once the process is asked to stop, by Ctrl-C or by its supervisor.
async fn stop_signal() {
    let interrupt = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    #[cfg(unix)]
    let terminate = async {
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut signal) => drop(signal.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    #[cfg(not(unix))]
    let terminate = std::future::pending::<()>();
    tokio::select! {
        () = interrupt => {}
        () = terminate => {}
    }
}

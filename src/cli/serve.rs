//! `portcullis serve`: the service.

use super::data::store_servers;
use super::error::CliError;
use super::flags::SettingFlags;
use super::lsp::CliWorkbench;
use super::telemetry::Telemetry;
use super::{Verdict, open_files, output, policy_file, precautions};
use crate::admin::AdminSocket;
use crate::config::{Config, InForce, Settled};
use crate::engine::{Engine, EngineSettings, PolicyOptions, connect_environments, open_environments};
use crate::http::{
    self, AppState, DEFAULT_ENVIRONMENT, DEVELOPMENT_KEY, DecisionLog, Environment, OptionalParts,
    SharedStore, Studio, Tls,
};
use crate::store::postgres::StoreServers;
use portcullis_compiler::Dialect;
use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Weak};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

/// Answer authorization questions over HTTP
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Every setting is a flag (--query-time), a variable (PORTCULLIS_QUERY_TIME) and a key of the
settings file (query_time). A flag takes precedence over a variable, a variable over the file.
`portcullis config show` prints the settings in force. A key with full access comes from
PORTCULLIS_API_KEY or the file; `portcullis keys create` creates other keys.

Examples:
  portcullis serve --dev --policy policy.polar
  portcullis serve --listen 0.0.0.0:8081 --data /var/lib/portcullis
  portcullis serve --config /etc/portcullis/portcullis.toml
  portcullis serve --store postgres://portcullis@db.internal/portcullis"
)]
pub(super) struct Args {
    #[command(flatten)]
    settings: SettingFlags,
}

pub(super) fn run(args: Args) -> Result<Verdict, CliError> {
    let Settled { config, values } = args.settings.settled()?;
    precautions::check(&config)?;
    let telemetry = Telemetry::start(&config)?;
    open_files::raise_limit();
    let (runtime, end_time) = (runtime()?, config.end_time());
    let served = runtime.block_on(serve(config, &values));
    // Do not wait for threads that still compute: acknowledged writes are on the disk.
    runtime.shutdown_timeout(end_time / 2);
    telemetry.finish();
    served
}

/// The async runtime of a command.
pub(super) fn runtime() -> Result<Runtime, CliError> {
    let built = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    built.map_err(CliError::Threads)
}

async fn serve(mut config: Config, values: &[InForce]) -> Result<Verdict, CliError> {
    let decision_log = DecisionLog::open(&config)?.map(Arc::new);
    let tls = Tls::read(config.tls_cert.as_deref(), config.tls_key.as_deref())?.map(Arc::new);
    let settings = http::engine_settings(&config);
    let store = store_servers(&config)?;
    let environments = match &store {
        None => open_environments(&config.data, DEFAULT_ENVIRONMENT, &settings).await?,
        Some(servers) => connect_environments(servers, DEFAULT_ENVIRONMENT, &settings).await?,
    };
    precautions::check_stored(&config, &environments)?;
    precautions::warn_of_readable(&config, values);
    open_files::fit_connections(&mut config);
    if let Some(path) = &config.policy
        && let Some((_, engine)) = environments.first()
    {
        load(engine, path).await?;
    }
    let (listener, address) = listen(config.listen).await?;
    let metrics = match config.metrics_listen {
        Some(address) => Some(listen(address).await?),
        None => None,
    };
    // The keys of a store in a database are managed in the database.
    let admin = if store.is_none() { admin_socket(&config.data) } else { None };
    let studio = studio(&config);
    let has_key =
        config.dev || config.api_key.is_some() || environments.iter().any(|(_, engine)| is_opened(engine));
    let place = ServedPlace {
        address,
        metrics: metrics.as_ref().map(|(_, address)| *address),
        store: store.as_ref(),
        studio: studio.as_ref(),
        has_key,
    };
    let welcome = place.welcome(&config);
    let stop = stop_signal();
    // A collector has nothing to open again.
    let log_file = decision_log.as_ref().filter(|_| config.decision_log.is_some());
    reload_on_hangup(tls.clone(), log_file.map(Arc::downgrade));
    if let Err(error) = output::to_stdout(&welcome) {
        tracing::warn!(%error, %address, "cannot print the address; the service runs anyway");
    }
    let shared_store = store.map(|store| SharedStore::new(store, settings.clone()));
    let parts = OptionalParts { shared_store, studio, tls, decision_log };
    let environments = environments.into_iter().map(|(name, engine)| Environment { name, engine });
    let state = Arc::new(AppState::new(config, environments, parts));
    // Metrics are served until the last request is answered.
    let (_answering, answered) = oneshot::channel::<()>();
    if let Some((listener, _)) = metrics {
        let until = async {
            let _dropped = answered.await;
        };
        tokio::spawn(http::serve_metrics(listener, Arc::clone(&state), until));
    }
    tokio::select! {
        () = http::serve(listener, Arc::clone(&state), stop) => {}
        () = run_admin_commands(admin, state, settings) => {}
    }
    Ok(Verdict::Good)
}

/// Where the service can be found, for its welcome.
struct ServedPlace<'s> {
    address: SocketAddr,
    metrics: Option<SocketAddr>,
    /// The store in a database, if it is in one.
    store: Option<&'s StoreServers>,
    studio: Option<&'s Studio>,
    /// Whether anyone can ask it.
    has_key: bool,
}

/// The studio, if it is on.
fn studio(config: &Config) -> Option<Studio> {
    let workbench = || CliWorkbench::new(tokio::runtime::Handle::current(), Dialect::Sqlite, None);
    (config.studio || config.dev).then(|| Studio::new(Arc::new(workbench())))
}

/// Where the studio is. In development the link opens it, once; elsewhere the page asks for a key.
fn studio_line(studio: &Studio, address: SocketAddr, config: &Config) -> String {
    let link = if config.dev { studio.link(DEVELOPMENT_KEY) } else { Ok("/studio/".to_owned()) };
    let path = link.unwrap_or_else(|error| {
        tracing::warn!(%error, "cannot make a link for the studio, which asks for the key instead");
        "/studio/".to_owned()
    });
    format!("the studio is on {}://{address}{path}", config.scheme())
}

/// Whether an environment has a valid key.
fn is_opened(engine: &Engine) -> bool {
    engine.keys().iter().any(|key| !key.revoked)
}

/// A listener and its address: port 0 means any free port.
async fn listen(at: SocketAddr) -> Result<(TcpListener, SocketAddr), CliError> {
    let cannot = |error| CliError::Listen { address: at, error };
    let listener = TcpListener::bind(at).await.map_err(cannot)?;
    let address = listener.local_addr().map_err(cannot)?;
    Ok((listener, address))
}

/// Carries out admin commands; never returns.
async fn run_admin_commands(admin: Option<AdminSocket>, state: Arc<AppState>, settings: EngineSettings) {
    match admin {
        Some(socket) => socket.serve(state, settings).await,
        None => std::future::pending().await,
    }
}

/// The admin socket. The service runs without it if it cannot be created.
fn admin_socket(data: &Path) -> Option<AdminSocket> {
    let bound = AdminSocket::bind(data);
    let missing = "no admin socket: keys can be managed only while the service is stopped";
    bound.inspect_err(|error| tracing::warn!(%error, "{missing}")).ok()
}

/// Loads a policy file as the active policy.
async fn load(engine: &Engine, path: &Path) -> Result<(), CliError> {
    let src = policy_file::read(path)?;
    let outcome = engine.set_policy(src, path.display().to_string(), PolicyOptions::default()).await?;
    tracing::info!(file = %path.display(), version = outcome.version, "{}", outcome.message);
    Ok(())
}

impl ServedPlace<'_> {
    /// The message once the service answers.
    fn welcome(&self, config: &Config) -> String {
        let base = format!("{}://{}/api", config.scheme(), self.address);
        let data = config.data.display();
        let (place, keys_command) = match self.store {
            None => (data.to_string(), format!("keys create --data {data}")),
            Some(store) => (store.primary.to_string(), "keys create".to_owned()),
        };
        let mut lines = vec![format!("portcullis is listening on {base}; its data is in {place}")];
        let metrics = self.metrics;
        lines.extend(metrics.map(|address| format!("metrics without a key are on http://{address}/metrics")));
        if config.dev {
            let key = DEVELOPMENT_KEY;
            lines.push(format!("development mode: everyone knows the key {key}, try"));
            lines.push(format!("  curl -H 'Authorization: Bearer {key}' {base}/policy"));
        }
        lines.extend(self.studio.map(|studio| studio_line(studio, self.address, config)));
        if !self.has_key {
            lines.push("there is no key yet, so no request is answered; create one with".to_owned());
            lines.push(format!("  portcullis {keys_command}"));
        }
        lines.join("\n")
    }
}

/// Ready once the process is asked to stop, by Ctrl-C or by its supervisor. Signals count from the call on,
/// not from the first poll, because a reader of the welcome may send one at once.
#[cfg(unix)]
fn stop_signal() -> impl Future<Output = ()> {
    use tokio::signal::unix::{SignalKind, signal};
    let [interrupt, terminate] =
        [SignalKind::interrupt(), SignalKind::terminate()].map(signal).map(async |taken| match taken {
            Ok(mut signal) => drop(signal.recv().await),
            Err(_) => std::future::pending().await,
        });
    async {
        tokio::select! {
            () = interrupt => {}
            () = terminate => {}
        }
    }
}

/// Ready once the process is asked to stop, by Ctrl-C.
#[cfg(not(unix))]
async fn stop_signal() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Reloads the certificate and opens the file of the decision log again on SIGHUP. Without both there is
/// nothing to do: then the signal is ignored, unless it means that the terminal from which the service was
/// started is gone.
#[cfg(unix)]
fn reload_on_hangup(tls: Option<Arc<Tls>>, log_file: Option<Weak<DecisionLog>>) {
    use tokio::signal::unix::{SignalKind, signal};
    if tls.is_none() && log_file.is_none() && std::io::stdin().is_terminal() {
        return;
    }
    let mut hangups = match signal(SignalKind::hangup()) {
        Ok(hangups) => hangups,
        Err(error) => {
            return tracing::warn!(%error, "cannot handle SIGHUP: the certificate will not be reloaded");
        }
    };
    tokio::spawn(async move {
        while hangups.recv().await.is_some() {
            if let Some(log) = log_file.as_ref().and_then(Weak::upgrade) {
                log.reopen();
                tracing::info!("the decision log is opened again before its next line");
            }
            match tls.as_ref().map(|tls| tls.reload()) {
                None if log_file.is_some() => {}
                None => tracing::info!("there is no certificate to reload"),
                Some(Ok(())) => tracing::info!("the certificate was reloaded"),
                Some(Err(error)) => {
                    tracing::error!(%error, "cannot reload the certificate: the previous one stays in use");
                }
            }
        }
    });
}

#[cfg(not(unix))]
fn reload_on_hangup(_tls: Option<Arc<Tls>>, _log_file: Option<Weak<DecisionLog>>) {}

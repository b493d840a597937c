//! One scale from end to end: make, load, ask, stop, look at the files, ask the engine.
//!
//! Every question is put to the running program first, and to the engine in this process afterwards, over the
//! same folder, which by then is not open elsewhere.

use crate::ask;
use crate::code_host::http::Client;
use crate::code_host::service::serve;
use crate::code_host::{CodeHost, POLICY, Size};
use crate::folder::{Bytes, Folder};
use crate::load::{self, Loaded};
use crate::options::{Options, Part};
use crate::pressure::{self, CLIENTS};
use crate::questions::{self, Mix, Question};
use crate::sample::Sampler;
use crate::times::Times;
use crate::watch::{Watch, Watched};
use portcullis::engine::{Engine, EngineSettings};
use portcullis_testkit::cluster::Cluster;
use serde_json::json;
use std::net::SocketAddr;
use std::time::Duration;

/// What was measured at one scale.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) scale: f64,
    pub(crate) n_facts: usize,
    pub(crate) folder: Folder,
    /// The single decisions that were asked.
    pub(crate) decisions: Vec<Question>,
    /// What they were drawn from.
    pub(crate) mix: Mix,
    /// None if the folder was loaded before.
    pub(crate) loaded: Option<Loaded>,
    /// By what was asked, in the order in which it was asked.
    pub(crate) timed: Vec<(String, Times)>,
    /// None if the store is in a database.
    pub(crate) bytes: Option<Bytes>,
    pub(crate) memory: Watched,
}

impl Run {
    /// What was measured under a name.
    pub(crate) fn times(&self, name: &str) -> Option<&Times> {
        self.timed.iter().find(|(known, _)| known == name).map(|(_, times)| times)
    }
}

/// Questions, drawn once and put to both the service and the engine.
struct Asked {
    decisions: Vec<Question>,
    /// Kinds of questions with their name and how often they are asked.
    others: Vec<(String, Vec<Question>, usize)>,
    mix: Mix,
}

/// Single decisions that are drawn.
const DECISIONS: usize = 20_000;

/// How many of them are explained.
const EXPLAINED: usize = 4_000;

/// Checks of each of eight clients.
const EACH: usize = 6_000;

/// A server as it would be used, but for its memory: the test kit's own settings lose what was committed.
const DURABLE: &[&str] = &[
    "fsync=on",
    "full_page_writes=on",
    "synchronous_commit=on",
    "autovacuum=on",
    "shared_buffers=512MB",
    "max_wal_size=4GB",
];

/// Measures at one scale.
pub(crate) fn run(scale: f64, options: &Options, runtime: &tokio::runtime::Runtime) -> Run {
    let host = CodeHost::new(Size::scaled(scale), options.seed);
    let n_facts = host.n_facts();
    options.say(&format!("scale {scale}: {n_facts} facts, {:?}", host.size));
    let folder = match (&options.reuse, &options.keep) {
        (Some(parent), _) => Folder::reused(parent, scale, options.seed),
        (None, Some(parent)) => Folder::kept(parent, scale),
        (None, None) => Folder::temporary(),
    };
    let cluster = options.postgres.then(|| Cluster::start(DURABLE).unwrap());
    let store =
        cluster.as_ref().map(|cluster| format!("postgres://postgres@/postgres?host={}", cluster.folder));
    let in_database = store.iter().flat_map(|url| ["--store", url]);
    let service =
        serve(&folder.data(), &options.service().into_iter().chain(in_database).collect::<Vec<_>>());
    let watch = Watch::over(&service);
    let loaded = options.reuse.is_none().then(|| {
        Client::new(service.caller.address()).post("/policy", &json!({ "src": POLICY }).to_string());
        let loaded =
            load::load(service.caller.address(), &host, options.order, options.connections, options.seed);
        folder.loaded(scale, options.seed);
        loaded
    });
    let asked = draw(&host, options);
    let mut timed = Vec::new();
    if let Some(loaded) = &loaded {
        timed.push(("load, batch of 10,000".to_owned(), loaded.batches.clone()));
    }
    let time = Duration::from_secs_f64(options.seconds);
    over_http(service.caller.address(), &asked, options, &mut timed);
    disturbed(service.caller.address(), &asked, &host, options, time, &mut timed);
    let memory = watch.end();
    if options.asks(Part::Explain) {
        options.say("explanations");
        let questions = asked.decisions.get(..EXPLAINED).unwrap();
        timed.extend(ask::explained(service.caller.address(), questions));
    }
    let running = cluster.is_none().then(|| folder.bytes());
    service.stop();
    let bytes = running.map(|running| Bytes { running, closed: folder.bytes() });
    if cluster.is_none() {
        options.say("in the engine");
        let engine = runtime.block_on(Engine::open(&folder.store(), EngineSettings::default())).unwrap();
        runtime.block_on(in_engine(&engine, &asked, options, &mut timed));
    }
    let Asked { decisions, mix, .. } = asked;
    Run { scale, n_facts, folder, decisions, mix, loaded, timed, bytes, memory }
}

fn draw(host: &CodeHost, options: &Options) -> Asked {
    options.say("working out the answers");
    let sampler = Sampler::new(host);
    let seed = options.seed;
    let (decisions, mix) = questions::decisions(&sampler, seed + 1, DECISIONS);
    let mut others = Vec::new();
    if options.asks(Part::Actions) {
        others.push(("actions".to_owned(), questions::actions(&sampler, seed + 2, 4_000), 1));
    }
    if options.asks(Part::Resources) {
        let name = "authorize_resources of 100".to_owned();
        others.push((name, questions::resources(&sampler, seed + 3, 1_000), 1));
    }
    if options.asks(Part::List) {
        for (name, n_ids, questions) in questions::all_lists(&sampler.truth) {
            let rounds = if n_ids < 10_000 { 100 } else { 25 };
            others.push((name, questions, rounds));
        }
    }
    Asked { decisions, others, mix }
}

fn over_http(address: SocketAddr, asked: &Asked, options: &Options, timed: &mut Vec<(String, Times)>) {
    options.say("over HTTP");
    if options.asks(Part::Authorize) {
        timed.push(("authorize, HTTP, one client".into(), ask::one_client(address, &asked.decisions, 1)));
        let times = ask::clients(address, &asked.decisions, CLIENTS, EACH);
        timed.push(("authorize, HTTP, eight clients".into(), times));
    }
    for (name, questions, rounds) in &asked.others {
        timed.push((format!("{name}, HTTP"), ask::one_client(address, questions, *rounds)));
    }
}

fn disturbed(
    address: SocketAddr,
    asked: &Asked,
    host: &CodeHost,
    options: &Options,
    time: Duration,
    timed: &mut Vec<(String, Times)>,
) {
    let questions = &asked.decisions;
    if options.asks(Part::Batches) {
        options.say("eight clients during batches");
        timed.push(("checks alone".into(), pressure::alone(address, questions, time)));
        let disturbed = pressure::during_batches(address, questions, host, time);
        timed.push(("checks during batches".into(), disturbed.checks));
        timed.push(("batch of 1,000 during checks".into(), disturbed.others));
        assert_eq!(load::stored(address), host.n_facts(), "the batches deleted what they added");
    }
    if options.asks(Part::Swap) {
        options.say("eight clients during policy uploads");
        let disturbed = pressure::during_policies(address, questions, time);
        timed.push(("checks during policy uploads".into(), disturbed.checks));
        timed.push(("policy upload during checks".into(), disturbed.others));
    }
}

async fn in_engine(engine: &Engine, asked: &Asked, options: &Options, timed: &mut Vec<(String, Times)>) {
    if options.asks(Part::Authorize) {
        timed.push(("authorize, engine".into(), ask::engine(engine, &asked.decisions, 1).await));
    }
    for (name, questions, rounds) in &asked.others {
        timed.push((format!("{name}, engine"), ask::engine(engine, questions, *rounds).await));
    }
}

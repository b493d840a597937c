//! Environments on the PostgreSQL server of this process, or on another primary with a replica. One that was
//! made is lent again, empty: making its tables and connections takes longer than most tests.

use super::RUNTIME;
use crate::cluster::Cluster;
use crate::postgres;
use portcullis::engine::{Engine, EngineSettings};
use portcullis::store::postgres::{Address, StoreServers, migrate};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};

/// Where an environment is.
#[derive(Clone, Copy)]
pub(super) enum LentPlace {
    /// On the server of this process.
    Server,
    /// On a primary whose replica answers questions that name a write.
    Replicated,
}

/// The environments that no test uses, by place.
static IDLE: Mutex<[Vec<Engine>; 2]> = Mutex::new([Vec::new(), Vec::new()]);

/// The servers of replicated environments, or why there are none.
static PAIR: LazyLock<Result<Pair, String>> = LazyLock::new(Pair::start);

/// A primary and its standby.
struct Pair {
    _primary: Cluster,
    _standby: Cluster,
    ports: [u16; 2],
}

impl Pair {
    fn start() -> Result<Self, String> {
        // A commit that is not written at once reaches the standby late.
        let settings = ["shared_buffers=16MB", "max_locks_per_transaction=2048", "synchronous_commit=on"];
        let (primary, port) = Cluster::with_port(&settings)?;
        let (standby, second) = Cluster::standby_of(port, &settings)?;
        Ok(Self { _primary: primary, _standby: standby, ports: [port, second] })
    }
}

/// How many environments there are.
static MADE: AtomicUsize = AtomicUsize::new(0);

/// An environment without facts and policies, until it is given back.
pub(super) struct LentEnvironment {
    engine: Engine,
    place: LentPlace,
}

impl LentEnvironment {
    pub(super) fn new(place: LentPlace) -> Result<Self, String> {
        let idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner)[place as usize].pop();
        let engine = match idle {
            Some(engine) => {
                RUNTIME.block_on(engine.clear()).map(|_| engine).map_err(|error| error.to_string())
            }
            None => make(place),
        };
        Ok(Self { engine: engine?, place })
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.engine
    }
}

impl Drop for LentEnvironment {
    fn drop(&mut self) {
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        idle[self.place as usize].push(self.engine.clone());
    }
}

/// The servers of a place.
fn servers(place: LentPlace) -> Result<StoreServers, String> {
    let parse = |url: &str| Address::parse(url).map_err(|error| error.to_string());
    match place {
        LentPlace::Server => Ok(parse(&postgres::shared_database()?)?.into()),
        LentPlace::Replicated => {
            let Pair { ports, .. } = PAIR.as_ref().map_err(Clone::clone)?;
            let at = |port: u16| parse(&format!("postgres://postgres@127.0.0.1:{port}/postgres"));
            Ok(StoreServers { replicas: vec![at(ports[1])?], ..at(ports[0])?.into() })
        }
    }
}

fn make(place: LentPlace) -> Result<Engine, String> {
    let environment = format!("tested-{}", MADE.fetch_add(1, Ordering::Relaxed));
    let servers = servers(place)?;
    RUNTIME.block_on(async {
        migrate(&servers.primary, &environment).await.map_err(|error| error.to_string())?;
        let settings =
            EngineSettings { readers: Some(1), long_readers: Some(1), ..EngineSettings::default() };
        Engine::connect(&servers, &environment, settings).await.map_err(|error| error.to_string())
    })
}

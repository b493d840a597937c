//! Environments on the PostgreSQL server of this process. One that was made is lent again, empty: making its
//! tables and connections takes longer than most tests.

use super::RUNTIME;
use crate::postgres;
use portcullis::engine::{Engine, EngineSettings};
use portcullis::store::postgres::{Address, migrate};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The environments that no test uses.
static IDLE: Mutex<Vec<Engine>> = Mutex::new(Vec::new());

/// How many environments there are.
static MADE: AtomicUsize = AtomicUsize::new(0);

/// An environment without facts and policies, until it is given back.
pub(super) struct LentEnvironment {
    engine: Engine,
}

impl LentEnvironment {
    pub(super) fn new() -> Result<Self, String> {
        let idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let engine = match idle {
            Some(engine) => {
                RUNTIME.block_on(engine.clear()).map(|_| engine).map_err(|error| error.to_string())
            }
            None => make(),
        };
        Ok(Self { engine: engine? })
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.engine
    }
}

impl Drop for LentEnvironment {
    fn drop(&mut self) {
        IDLE.lock().unwrap_or_else(PoisonError::into_inner).push(self.engine.clone());
    }
}

fn make() -> Result<Engine, String> {
    let environment = format!("tested-{}", MADE.fetch_add(1, Ordering::Relaxed));
    let url = postgres::shared_database()?;
    RUNTIME.block_on(async {
        let address = Address::parse(&url).map_err(|error| error.to_string())?;
        migrate(&address, &environment).await.map_err(|error| error.to_string())?;
        let settings =
            EngineSettings { readers: Some(1), long_readers: Some(1), ..EngineSettings::default() };
        Engine::connect(&address.into(), &environment, settings).await.map_err(|error| error.to_string())
    })
}

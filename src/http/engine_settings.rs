//! Derives the engines' settings from the service's.

use crate::config::Config;
use crate::engine::EngineSettings;
use std::num::NonZeroUsize;

/// The settings of every engine of the service.
pub fn engine_settings(config: &Config) -> EngineSettings {
    EngineSettings {
        query_time: config.query_time,
        query_wait: config.query_wait,
        readers: config.readers.map(NonZeroUsize::get),
        long_readers: config.long_readers.map(NonZeroUsize::get),
        policy_test_time: config.policy_test_time,
        context_facts: config.max_context_facts,
        batch_facts: config.max_batch,
        delete_reach: config.max_delete,
        embedded_values: config.embedded_values,
        ..EngineSettings::default()
    }
}

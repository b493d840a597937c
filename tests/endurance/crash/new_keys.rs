//! Keys and environments that are made while the service is killed.

use super::kills::{ENVIRONMENTS, Watch};
use portcullis_testkit::program::run;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::Ordering::SeqCst;

/// New environments that one folder is given; each costs every later start a little.
const NEW_ENVIRONMENTS: usize = 12;

/// Keys and whether they open; after a revocation without an answer either may be true.
#[derive(Default)]
pub(crate) struct Keys {
    pub(crate) known: BTreeMap<String, bool>,
    pub(crate) made: usize,
    new_environments: usize,
}

impl Keys {
    /// Keys that open.
    pub(crate) fn good(keys: impl IntoIterator<Item = String>) -> Self {
        Self { known: keys.into_iter().map(|key| (key, true)).collect(), ..Self::default() }
    }
}

/// Makes keys and revokes some with the program, and environments where the round is about them.
pub(crate) fn make_keys(keys: &mut Keys, folder: &Path, makes_environments: bool, watch: &Watch) {
    let is_ending = || watch.ending.load(SeqCst);
    while !is_ending() && !watch.resting.load(SeqCst) {
        keys.made += 1;
        let is_new = makes_environments && keys.new_environments < NEW_ENVIRONMENTS;
        let environment = if is_new {
            keys.new_environments += 1;
            format!("new-{}", keys.new_environments)
        } else {
            ENVIRONMENTS[keys.made % 3].to_owned()
        };
        watch.environments_asked.fetch_add(1, SeqCst);
        let made = run(folder, &["keys", "create", "--data", "d", "--environment", &environment]);
        match made {
            (Some(0), key, _) => {
                keys.known.insert(key.trim().to_owned(), true);
                watch.acknowledged.fetch_add(1, SeqCst);
                if keys.made.is_multiple_of(3) && !is_ending() {
                    revoke(keys, folder, &environment, key.trim(), watch);
                }
            }
            (_, _, error) => assert!(is_ending(), "{error}"),
        }
    }
}

fn revoke(keys: &mut Keys, folder: &Path, environment: &str, key: &str, watch: &Watch) {
    let id = key.split('_').nth(2).unwrap();
    keys.known.remove(key);
    match run(folder, &["keys", "revoke", id, "--data", "d", "--environment", environment]) {
        (Some(0), _, _) => {
            keys.known.insert(key.to_owned(), false);
        }
        (_, _, error) => assert!(watch.ending.load(SeqCst), "{error}"),
    }
}

//! The database is restored from its own tools' backups. What was written after the backup is gone, and a
//! read that names such a write is refused, not answered from older facts.

use super::{allowed, ask, get, may_read, node, offset, post, publish};
use portcullis::http::DEFAULT_ENVIRONMENT;
use portcullis::store::postgres::Address;
use portcullis::store::{Access, Store, StoreOptions};
use portcullis_testkit::cluster::{Cluster, PROGRAMS};
use portcullis_testkit::hosted::RUNTIME;
use portcullis_testkit::postgres::administer_in;
use portcullis_testkit::program::Service;
use portcullis_testkit::server::POLICY;
use portcullis_testkit::wire::{fact_json, question};
use serde_json::json;
use std::process::Command;

/// Runs one of the engine's own tools.
fn tool(name: &str, args: &[&str]) {
    let mut command = Command::new(format!("{}/{name}", *PROGRAMS));
    let out = command.args(args).output().unwrap();
    assert!(out.status.success(), "{name} {args:?}: {}", String::from_utf8_lossy(&out.stderr));
}

/// A store with facts, a policy and keys, of which a backup is made, and that is written to afterwards.
struct BackedUp {
    _server: Cluster,
    port: u16,
    /// The key that exists in the backup, and one that was revoked before it.
    keys: [String; 2],
    before: String,
    /// The offsets of the writes after the backup: to facts, and to the policy.
    after: [String; 2],
}

impl BackedUp {
    fn url(port: u16, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{port}/{database}")
    }

    /// Makes the store, the backup, and the writes after it. One node sees all of it, and is returned.
    fn make(back_up: impl FnOnce(u16)) -> (Self, Service) {
        let (server, port) = Cluster::with_port(&["shared_buffers=16MB", "synchronous_commit=on"]).unwrap();
        administer_in(&Self::url(port, "postgres"), "CREATE DATABASE kept").unwrap();
        let url = Self::url(port, "kept");
        let node = node(&url, &[]);
        let before = offset(&publish(&node, "a", true));
        let store = {
            let servers = Address::parse(&url).unwrap().into();
            RUNTIME.block_on(Store::connect(&servers, DEFAULT_ENVIRONMENT, &StoreOptions::default())).unwrap()
        };
        let keys = ["kept", "revoked"].map(|name| {
            let made = store.create_key(DEFAULT_ENVIRONMENT.to_owned(), name.to_owned(), Access::ReadOnly);
            let made = RUNTIME.block_on(made).unwrap();
            if name == "revoked" {
                assert!(RUNTIME.block_on(store.revoke_key(made.key.id)).unwrap());
            }
            made.text
        });
        drop(store);
        back_up(port);
        let strict = POLICY.replace("\"read\" if is_public(resource);\n", "");
        let facts = offset(&publish(&node, "a", false));
        let policy = offset(&post(&node, "policy", &json!({ "src": strict })));
        // A table that the backup does not have.
        let writer =
            json!([{ "inserts": [fact_json(&["has_role", "User:ada", "String:writer", "Repo:a"])] }]);
        assert_eq!(post(&node, "batch", &writer).status, 200);
        assert!(!allowed(&may_read(&node, "a", None)));
        (Self { _server: server, port, keys, before, after: [facts, policy] }, node)
    }

    /// What the store holds after it was restored.
    fn check(&self, node: &Service) {
        assert!(allowed(&may_read(node, "a", None)), "the facts and the policy of the backup");
        assert!(allowed(&may_read(node, "a", Some(&self.before))), "a write before the backup");
        let check = question("somebody", "read", "a");
        let status = |key: &str| ask(node, key, "POST /api/authorize", None, Some(&check)).status;
        assert_eq!(self.keys.each_ref().map(|key| status(key)), [200, 401]);
        let lost = || {
            for offset in &self.after {
                let answer = may_read(node, "a", Some(offset));
                answer.fails(409, "was lost when another server took over");
                assert_eq!(answer.code(), "lost_write");
            }
        };
        lost();
        // Other writes have their numbers now.
        for n in 0..5 {
            assert_eq!(publish(node, &format!("new {n}"), true).status, 200);
        }
        lost();
        assert!(allowed(&may_read(node, "a", Some(&self.before))));
        assert!(allowed(&may_read(node, "new 4", None)));
        let again = format!("{POLICY}\n# Uploaded again.");
        assert_eq!(post(node, "policy", &json!({ "src": again })).status, 200);
        assert!(allowed(&may_read(node, "a", None)));
    }
}

#[test]
fn a_dump_that_is_restored_has_facts_keys_and_policies_and_knows_which_writes_it_lacks() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kept.dump");
    let file = file.to_str().unwrap();
    let (all, node) = BackedUp::make(|port| {
        tool("pg_dump", &["--format", "custom", "--file", file, &BackedUp::url(port, "kept")]);
    });
    let address = BackedUp::url(all.port, "kept");
    let server = BackedUp::url(all.port, "postgres");
    administer_in(&server, "CREATE DATABASE restored").unwrap();
    let restored = BackedUp::url(all.port, "restored");
    tool("pg_restore", &["--exit-on-error", "--single-transaction", "--dbname", &restored, file]);
    for change in [
        "ALTER DATABASE kept ALLOW_CONNECTIONS false",
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'kept'",
        "ALTER DATABASE kept RENAME TO former",
        "ALTER DATABASE restored RENAME TO kept",
    ] {
        administer_in(&server, change).unwrap();
    }
    // The node has seen what is gone, so it answers nothing more.
    may_read(&node, "a", None).fails(503, "seen writes that the database lost");
    assert_eq!((publish(&node, "b", true).status, get(&node, "/ready").status), (503, 503));
    drop(node);
    let node = Service::develop(&["--store", &address]);
    all.check(&node);
    drop(node);

    // And into another database, whose role owns what is restored.
    for made in ["CREATE ROLE other LOGIN", "CREATE DATABASE moved OWNER other"] {
        administer_in(&server, made).unwrap();
    }
    let moved = BackedUp::url(all.port, "moved").replace("postgres@", "other@");
    tool("pg_restore", &["--no-owner", "--no-privileges", "--exit-on-error", "--dbname", &moved, file]);
    all.check(&Service::develop(&["--store", &moved]));
}

#[test]
fn a_base_backup_that_is_restored_knows_which_writes_it_lacks() {
    let mut copied = None;
    let (all, node) = BackedUp::make(|port| {
        copied = Some(Cluster::copy_of(port, &["shared_buffers=16MB", "synchronous_commit=on"]).unwrap());
    });
    let (_copy, port) = copied.unwrap();
    let address = BackedUp::url(port, "kept");
    let restored = Service::develop(&["--store", &address]);
    all.check(&restored);
    // The other server is as it was: the copy has nothing to do with it.
    assert!(!allowed(&may_read(&node, "a", Some(&all.after[1]))));
    assert_eq!(get(&node, "/ready").status, 200);
}

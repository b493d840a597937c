//! The role of the store loses rights while a node runs, and gets them back.

use super::{allowed, get, may_read, node, publish};
use portcullis_testkit::postgres::{administer, administer_in, new_database};
use portcullis_testkit::program::{Service, portcullis};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a node may need once the role has its rights again.
const PATIENCE: Duration = Duration::from_secs(20);

/// A right that is taken away and given back, each as it is done.
struct LostRight {
    revoke: &'static str,
    grant: &'static str,
    /// What the log says: which right, and what to do.
    logged: [&'static str; 2],
    /// What `store check` says to do.
    advice: &'static str,
}

const ON_TABLES: LostRight = LostRight {
    revoke: "REVOKE ALL ON ALL TABLES IN SCHEMA portcullis_e1 FROM ROLE",
    grant: "GRANT ALL ON ALL TABLES IN SCHEMA portcullis_e1 TO ROLE",
    logged: [
        "lacks a right: permission denied for table clock",
        "`portcullis store check URL` says how to give it",
    ],
    advice: "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA portcullis_e1 TO ROLE",
};

const ON_SCHEMA: LostRight = LostRight {
    revoke: "REVOKE ALL ON SCHEMA portcullis_e1 FROM ROLE",
    grant: "GRANT ALL ON SCHEMA portcullis_e1 TO ROLE",
    logged: [
        "lacks a right: permission denied for schema portcullis_e1",
        "`portcullis store check URL` says how to give it",
    ],
    advice: "GRANT USAGE, CREATE ON SCHEMA portcullis_e1 TO ROLE",
};

const ON_FACTS: LostRight = LostRight {
    revoke: "REVOKE ALL ON TABLE portcullis_e1.f1 FROM ROLE",
    grant: "GRANT ALL ON TABLE portcullis_e1.f1 TO ROLE",
    logged: [
        "lacks a right: permission denied for table f1",
        "`portcullis store check URL` says how to give it",
    ],
    advice: "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA portcullis_e1 TO ROLE",
};

/// What `store check` prints.
fn check(url: &str) -> String {
    let mut command: Command = portcullis(&std::env::temp_dir());
    let out = command.args(["store", "check", url]).output().unwrap();
    String::from_utf8(out.stdout).unwrap()
}

/// Waits until checks and batches are answered again.
fn goes_on(node: &Service) {
    let began = Instant::now();
    while may_read(node, "a", None).status != 200 || publish(node, "b", true).status != 200 {
        assert!(began.elapsed() < PATIENCE, "the node does not go on");
        sleep(Duration::from_millis(50));
    }
    assert!(allowed(&may_read(node, "a", None)) && get(node, "/ready").status == 200);
}

#[test]
fn a_right_that_is_lost_while_a_node_runs_is_named_and_can_be_given_back() {
    let admin = new_database().unwrap();
    let role = format!("role_{}", admin.rsplit('/').next().unwrap());
    administer(&format!("CREATE ROLE {role} LOGIN")).unwrap();
    let database = admin.rsplit('/').next().unwrap();
    administer(&format!("GRANT CREATE ON DATABASE {database} TO {role}")).unwrap();
    let url = admin.replace("postgres://postgres@", &format!("postgres://{role}@"));
    let node = node(&url, &["--query-wait", "2"]);
    assert_eq!(publish(&node, "a", true).status, 200);
    assert!(allowed(&may_read(&node, "a", None)));
    assert!(check(&url).contains("may do all that is needed"), "{}", check(&url));
    for LostRight { revoke, grant, logged, advice } in [ON_TABLES, ON_SCHEMA, ON_FACTS] {
        let run = |statement: &str| administer_in(&admin, &statement.replace("ROLE", &role)).unwrap();
        run(revoke);
        for answer in [may_read(&node, "a", None), publish(&node, "b", true), publish(&node, "a", false)] {
            answer.fails(503, "the service is not available at the moment");
        }
        logged.iter().for_each(|part| node.program.logs(part));
        let said = check(&url);
        assert!(said.contains(&advice.replace("ROLE", &role)), "{revoke}: {said}");
        run(grant);
        goes_on(&node);
        assert!(check(&url).contains("may do all that is needed"), "{}", check(&url));
    }

    // What a node needs only now and then.
    for (right, advice) in [
        (
            "TABLE portcullis.environment",
            "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA portcullis TO ROLE",
        ),
        (
            "ALL SEQUENCES IN SCHEMA portcullis_e1",
            "GRANT USAGE ON ALL SEQUENCES IN SCHEMA portcullis_e1 TO ROLE",
        ),
    ] {
        administer_in(&admin, &format!("REVOKE ALL ON {right} FROM {role}")).unwrap();
        let said = check(&url);
        assert!(said.contains(&advice.replace("ROLE", &role)), "{right}: {said}");
        assert!(!said.contains("may do all that is needed"), "{right}: {said}");
        administer_in(&admin, &advice.replace("ROLE", &role)).unwrap();
        assert!(check(&url).contains("may do all that is needed"), "{}", check(&url));
    }

    // Connections that are open go on, and no new one is made.
    administer(&format!("ALTER ROLE {role} NOLOGIN")).unwrap();
    administer(&format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{role}'"))
        .unwrap();
    for answer in [may_read(&node, "a", None), publish(&node, "b", true), get(&node, "/ready")] {
        answer.fails(503, "the service is not available at the moment");
    }
    node.program.logs("is not permitted to log in; check the user and the password of the address");
    administer(&format!("ALTER ROLE {role} LOGIN")).unwrap();
    goes_on(&node);
}

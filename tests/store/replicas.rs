//! Questions that a replica answers, and those that it must not answer.

use super::{ENVIRONMENT, Place, SERVER, client, insert, options, public};
use portcullis::store::postgres::{Address, FORMAT, ReplicaUsage, StoreServers};
use portcullis::store::{
    Access, ArgPattern, DatabaseError, FactPattern, Store, StoreError, Token, Value, WriteMark,
};
use portcullis_testkit::cluster::Cluster;
use portcullis_testkit::ports::free_port;
use portcullis_testkit::proxy::{Fault, Proxy};
use std::sync::LazyLock;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio_postgres::Client;

/// A standby of the tests' server. Replay is paused for all databases at once, so one test uses it at a time.
static STANDBY: LazyLock<(Mutex<()>, Cluster, u16)> = LazyLock::new(|| {
    let settings = ["shared_buffers=16MB", "max_connections=200", "hot_standby_feedback=on"];
    let (standby, port) = Cluster::standby_of(SERVER.own_port(), &settings).unwrap();
    (Mutex::default(), standby, port)
});

/// A database on both servers.
struct Pair {
    place: Place,
    /// The superuser's connection to the standby.
    standby: Client,
}

impl Pair {
    async fn new(database: &str) -> Self {
        // A test that failed may have paused it.
        let standby = client(&format!("postgres://postgres@127.0.0.1:{}/postgres", STANDBY.2)).await;
        standby.batch_execute("SELECT pg_wal_replay_resume()").await.unwrap();
        let place = Place::new(database).await;
        // Else the log is sent a while after the commit.
        let prompt = format!("ALTER DATABASE {database} SET synchronous_commit = on");
        place.admin.batch_execute(&prompt).await.unwrap();
        let url = format!("postgres://postgres@127.0.0.1:{}/{database}", STANDBY.2);
        for _ in 0..400 {
            if tokio_postgres::connect(&url, tokio_postgres::NoTls).await.is_ok() {
                let pair = Self { place, standby: client(&url).await };
                pair.reached().await;
                return pair;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!("the standby does not get the database");
    }

    async fn open(&self, primary: u16, max_staleness: Option<Duration>) -> Store {
        self.open_with(primary, STANDBY.2, max_staleness).await
    }

    async fn open_with(&self, primary: u16, replica: u16, max_staleness: Option<Duration>) -> Store {
        let address = |port: u16| {
            let url =
                format!("postgres://postgres@127.0.0.1:{port}/{}?connect_timeout=1", self.place.database);
            Address::parse(&url).unwrap()
        };
        let servers =
            StoreServers { primary: address(primary), replicas: vec![address(replica)], max_staleness };
        Store::connect(&servers, ENVIRONMENT, &options()).await.unwrap()
    }

    /// Waits until the standby has all that the primary has.
    async fn reached(&self) {
        // Where the next record begins may be behind the header of a page, which is never replayed alone.
        let now = "SELECT pg_current_wal_flush_lsn()::text";
        let lsn: String = self.place.admin.query_one(now, &[]).await.unwrap().get(0);
        let has = format!("SELECT pg_last_wal_replay_lsn() >= '{lsn}'");
        for _ in 0..400 {
            let row = self.standby.query_one(&has, &[]).await;
            if row.is_ok_and(|row| row.get(0)) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!("the standby does not follow");
    }

    /// Stops or continues the standby's replay.
    async fn replay(&self, goes_on: bool) {
        let call = if goes_on { "SELECT pg_wal_replay_resume()" } else { "SELECT pg_wal_replay_pause()" };
        self.standby.batch_execute(call).await.unwrap();
        let state = if goes_on { "not paused" } else { "paused" };
        for _ in 0..400 {
            let row = self.standby.query_one("SELECT pg_get_wal_replay_pause_state()", &[]).await.unwrap();
            if row.get::<_, &str>(0) == state {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("replay is not {state}");
    }
}

/// Adds a fact; returns the moment after it.
async fn write(store: &Store, id: &str) -> Option<Token> {
    let applied = store.apply(insert([public(id)])).await.unwrap();
    WriteMark::token(&WriteMark { offset: applied.offset, nonce: applied.nonce }.to_string())
}

/// How many facts a question sees.
async fn seen(store: &Store) -> Result<usize, StoreError> {
    Ok(store.facts(FactPattern::new("is_public", vec![ArgPattern::Any]), 1_000).await?.facts.len())
}

/// Whether a question sees a fact.
async fn has(store: &Store, id: &str) -> bool {
    let id = ArgPattern::Exact(Value::new("Repository", id));
    !store.facts(FactPattern::new("is_public", vec![id]), 2).await.unwrap().facts.is_empty()
}

/// How often the replica answered, was behind, and failed.
fn usage(store: &Store) -> (u64, u64, u64) {
    let [ReplicaUsage { answered, behind, failed, .. }] = &store.replica_usage()[..] else { panic!("one") };
    (*answered, *behind, *failed)
}

#[tokio::test]
async fn a_question_that_names_a_write_is_answered_by_a_replica_that_has_seen_it() {
    let _turn = STANDBY.0.lock().await;
    let pair = Pair::new("named_writes").await;
    let store = pair.open(SERVER.own_port(), None).await;
    let first = write(&store, "1").await;
    pair.reached().await;
    assert_eq!((seen(&store.after(first)).await.unwrap(), usage(&store)), (1, (1, 0, 0)));
    // One that names none is not.
    assert_eq!((seen(&store).await.unwrap(), usage(&store)), (1, (1, 0, 0)));
    pair.replay(false).await;
    let second = write(&store, "2").await;
    assert_eq!((seen(&store.after(second)).await.unwrap(), usage(&store)), (2, (1, 1, 0)));
    // The former write is all that this one must see.
    assert_eq!((seen(&store.after(first)).await.unwrap(), usage(&store)), (1, (2, 1, 0)));
    assert_eq!(seen(&store).await.unwrap(), 2);
    pair.replay(true).await;
    pair.reached().await;
    assert_eq!((seen(&store.after(second)).await.unwrap(), usage(&store)), (2, (3, 1, 0)));
}

/// Writes and questions that name them, while replay stops and goes on: `PORTCULLIS_PAIRS` of them.
#[tokio::test]
async fn no_answer_lacks_a_write_that_its_question_names() {
    let _turn = STANDBY.0.lock().await;
    let pair = Pair::new("delayed_replica").await;
    let (one, two) = (pair.open(SERVER.own_port(), None).await, pair.open(SERVER.own_port(), None).await);
    let n_pairs: u64 = std::env::var("PORTCULLIS_PAIRS").map_or(300, |pairs| pairs.parse().unwrap());
    for n in 1..=n_pairs {
        if n % 20 == 0 {
            pair.replay(n % 40 == 0).await;
        }
        let token = write(&one, &n.to_string()).await;
        if n % 3 == 0 && n % 40 < 20 {
            pair.reached().await;
        }
        assert!(has(&two.after(token), &n.to_string()).await, "after write {n}");
    }
    pair.replay(true).await;
    let (answered, behind, failed) = usage(&two);
    assert!(answered > 20 && behind > 20 && failed <= n_pairs / 1_000 + 1, "{answered} {behind} {failed}");
}

#[tokio::test]
async fn a_replica_with_another_policy_or_other_relations_does_not_answer() {
    let _turn = STANDBY.0.lock().await;
    let pair = Pair::new("behind_in_policy").await;
    let store = pair.open(SERVER.own_port(), None).await;
    let token = write(&store, "1").await;
    pair.reached().await;
    pair.replay(false).await;
    store.put_policy("# another".to_owned(), String::new()).await.unwrap();
    assert_eq!((seen(&store.after(token)).await.unwrap(), usage(&store)), (1, (0, 1, 0)));
    pair.replay(true).await;
    pair.reached().await;
    pair.replay(false).await;
    store.apply(insert([super::relation("1", "repository", "2")])).await.unwrap();
    assert_eq!((seen(&store.after(token)).await.unwrap(), usage(&store)), (1, (0, 2, 0)));
    pair.replay(true).await;
}

#[tokio::test]
async fn a_key_that_was_revoked_elsewhere_is_known_after_an_answer_of_a_replica() {
    let _turn = STANDBY.0.lock().await;
    let pair = Pair::new("revoked_behind").await;
    let (here, there) = (pair.open(SERVER.own_port(), None).await, pair.open(SERVER.own_port(), None).await);
    let key = here.create_key(ENVIRONMENT.to_owned(), "one".to_owned(), Access::ReadOnly).await.unwrap();
    let token = write(&here, "1").await;
    pair.reached().await;
    assert_eq!(seen(&there.after(token)).await.unwrap(), 1);
    let (before, ..) = usage(&there);
    assert!(there.known_key(&key.text).is_some());
    pair.replay(false).await;
    here.revoke_key(key.key.id).await.unwrap();
    assert_eq!((seen(&there.after(token)).await.unwrap(), usage(&there)), (1, (before + 1, 0, 0)));
    assert!(there.known_key(&key.text).is_none());
    pair.replay(true).await;
}

#[tokio::test]
async fn answers_are_not_older_than_allowed() {
    let _turn = STANDBY.0.lock().await;
    let pair = Pair::new("bounded_age").await;
    let most = Duration::from_secs(2);
    let store = pair.open(SERVER.own_port(), Some(most)).await;
    write(&store, "1").await;
    pair.reached().await;
    assert_eq!((seen(&store).await.unwrap(), usage(&store)), (1, (1, 0, 0)));
    pair.replay(false).await;
    write(&store, "2").await;
    let written = std::time::Instant::now();
    let mut n_old = 0;
    while written.elapsed() < 2 * most {
        let asked = written.elapsed();
        match seen(&store).await.unwrap() {
            1 => {
                assert!(asked < most, "{asked:?} after a write, its fact is missing");
                n_old += 1;
            }
            n => assert_eq!(n, 2),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(n_old > 5, "{n_old}");
    let (_, behind, failed) = usage(&store);
    assert!(behind > 5 && failed == 0, "{behind} {failed}");
    pair.replay(true).await;
}

#[tokio::test]
async fn replicas_answer_for_as_long_as_allowed_while_the_primary_is_out_of_reach() {
    let _turn = STANDBY.0.lock().await;
    let pair = Pair::new("primary_away").await;
    let proxy = Proxy::start(SERVER.own_port());
    let most = Duration::from_secs(3);
    let (bounded, strict) = (pair.open(proxy.port, Some(most)).await, pair.open(proxy.port, None).await);
    let token = write(&bounded, "1").await;
    pair.reached().await;
    assert_eq!(seen(&bounded).await.unwrap(), 1);
    assert_eq!(seen(&strict.after(token)).await.unwrap(), 1);
    proxy.set(Fault::LostServer);
    pair.place.end_connections().await;
    let away = std::time::Instant::now();
    assert!(bounded.answers_without_primary() && !strict.answers_without_primary());
    let mut n_answered = 0;
    loop {
        let asked = away.elapsed();
        match seen(&bounded).await {
            Ok(n) => {
                assert!(n == 1 && asked < most, "{asked:?}");
                n_answered += 1;
            }
            Err(StoreError::Database(DatabaseError::Unreachable { .. })) => break,
            Err(other) => panic!("{other}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(n_answered > 5, "{n_answered}");
    assert!(!bounded.answers_without_primary());
    // Without an allowed age, keys and policy must be those of the primary.
    let refused = seen(&strict.after(token)).await.unwrap_err();
    assert!(matches!(refused, StoreError::Database(DatabaseError::Unreachable { .. })), "{refused}");
    proxy.set(Fault::None);
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    assert_eq!(seen(&bounded).await.unwrap(), 1);
}

/// A standby that goes on following a server which is not the primary any more.
#[tokio::test]
async fn a_replica_with_a_moment_that_the_primary_never_had_does_not_answer() {
    let _turn = STANDBY.0.lock().await;
    let pair = Pair::new("other_history").await;
    let store = pair.open(SERVER.own_port(), None).await;
    let token = write(&store, "1").await;
    write(&store, "2").await;
    pair.reached().await;
    assert_eq!((seen(&store.after(token)).await.unwrap(), usage(&store)), (2, (1, 0, 0)));
    pair.replay(false).await;
    let fresh = pair.open(SERVER.own_port(), None).await;
    pair.place
        .admin
        .batch_execute(
            "UPDATE portcullis_e1.revision SET nonce = nonce # 1 WHERE revision = 2;
             UPDATE portcullis_e1.clock SET nonce = nonce # 1; 
             DELETE FROM portcullis_e1.f1 WHERE a0 IN (SELECT a0 FROM portcullis_e1.f1 ORDER BY a0 DESC LIMIT 1)",
        )
        .await
        .unwrap();
    drop(fresh);
    let fresh = pair.open(SERVER.own_port(), None).await;
    assert_eq!((seen(&fresh.after(token)).await.unwrap(), usage(&fresh)), (1, (0, 1, 0)));
    pair.replay(true).await;
}

/// While the primary is away, nobody knows what it has in place of an older policy, key or relation.
#[tokio::test]
async fn without_the_primary_a_replica_with_another_state_does_not_answer() {
    let _turn = STANDBY.0.lock().await;
    let pair = Pair::new("other_state_away").await;
    let min_reader = async |least: i32| {
        let note = format!("UPDATE portcullis_e1.clock SET min_reader = {least}");
        pair.place.admin.batch_execute(&note).await.unwrap();
    };
    for change in 0..5 {
        let proxy = Proxy::start(SERVER.own_port());
        let store = pair.open(proxy.port, Some(Duration::from_mins(10))).await;
        write(&store, "1").await;
        pair.reached().await;
        assert!(seen(&store).await.is_ok());
        pair.replay(false).await;
        match change {
            0 => {}
            1 => drop(store.put_policy("# another".to_owned(), String::new()).await.unwrap()),
            2 => {
                let made = store.create_key(ENVIRONMENT.to_owned(), "one".to_owned(), Access::ReadOnly);
                drop(made.await.unwrap());
            }
            3 => drop(store.apply(insert([super::relation("1", "repository", "2")])).await.unwrap()),
            // A migration that this release does not know.
            _ => min_reader(FORMAT + 1).await,
        }
        // The node knows of it.
        let followed = store.follow().await;
        assert_eq!(followed.is_ok(), change != 4, "{followed:?}");
        assert_eq!(store.answers_without_primary(), change != 4);
        proxy.set(Fault::LostServer);
        pair.place.end_connections().await;
        let answer = seen(&store).await;
        match (change, answer) {
            (0, answer) => assert!(answer.is_ok(), "{answer:?}"),
            (_, Err(StoreError::Database(DatabaseError::Unreachable { .. }))) => {}
            (_, answer) => panic!("after change {change}: {answer:?}"),
        }
        if change == 4 {
            min_reader(FORMAT).await;
            proxy.set(Fault::None);
            tokio::time::sleep(Duration::from_millis(1_100)).await;
            assert!(seen(&store).await.is_ok() && store.answers_without_primary());
        }
        pair.replay(true).await;
        pair.reached().await;
    }
}

/// A server that accepts connections and says nothing, as a network without a route does.
#[tokio::test]
async fn a_silent_replica_or_primary_costs_little_time() {
    let _turn = STANDBY.0.lock().await;
    let pair = Pair::new("silent_servers").await;
    let (primary, replica) = (Proxy::start(SERVER.own_port()), Proxy::start(STANDBY.2));
    let most = Duration::from_mins(10);
    let store = pair.open_with(primary.port, replica.port, Some(most)).await;
    write(&store, "1").await;
    pair.reached().await;
    for _ in 0..10 {
        assert_eq!(seen(&store).await.unwrap(), 1);
    }
    assert!(usage(&store).0 > 5, "{:?}", usage(&store));
    for (silent, kind) in [(&replica, "replica"), (&primary, "primary")] {
        silent.set(Fault::Silence);
        let began = std::time::Instant::now();
        for _ in 0..20 {
            assert_eq!(seen(&store).await.unwrap(), 1, "behind a silent {kind}");
        }
        assert!(began.elapsed() < Duration::from_secs(9), "a silent {kind} costs {:?}", began.elapsed());
        silent.set(Fault::None);
        pair.place.end_connections().await;
        pair.standby.batch_execute("SELECT pg_sleep(3)").await.unwrap();
        assert_eq!(seen(&store).await.unwrap(), 1, "after the {kind} was silent");
    }
}

#[tokio::test]
async fn without_its_replica_the_primary_answers() {
    let _turn = STANDBY.0.lock().await;
    let _pair = Pair::new("replica_away").await;
    let address = |port: u16| {
        let url = format!("postgres://postgres@127.0.0.1:{port}/replica_away?connect_timeout=1");
        Address::parse(&url).unwrap()
    };
    let nobody = free_port();
    let servers = StoreServers {
        primary: address(SERVER.own_port()),
        replicas: vec![address(nobody)],
        max_staleness: Some(Duration::from_secs(5)),
    };
    let store = Store::connect(&servers, ENVIRONMENT, &options()).await.unwrap();
    let token = write(&store, "1").await;
    for _ in 0..3 {
        assert_eq!(seen(&store.after(token)).await.unwrap(), 1);
        assert_eq!(seen(&store).await.unwrap(), 1);
    }
    // It is not tried again at once.
    let (answered, behind, failed) = usage(&store);
    assert!(answered == 0 && behind == 0 && (1..=3).contains(&failed), "{failed}");
}

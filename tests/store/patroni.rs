//! The primary of a Patroni cluster is killed while nodes write: Patroni promotes a standby, the nodes find
//! it by themselves, and the old primary comes back as a replica.

use super::failover::{PATIENCE, Progress, WRITERS, Writer};
use super::{ENVIRONMENT, insert, options, pattern, public};
use portcullis::store::postgres::{Address, StoreServers, migrate};
use portcullis::store::{Store, WriteMark};
use portcullis_testkit::patroni::{MEMBERS, Patroni};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::NoTls;

/// How many standbys stream, and whether one of them must confirm each commit.
const CONFIRMING: &str = "SELECT count(*)::text || ' ' || bool_or(sync_state = 'sync')::text
    FROM pg_stat_replication WHERE state = 'streaming'";

const IS_PRIMARY: &str = "SELECT (NOT pg_is_in_recovery())::text";

/// What a query returns on a member; `None` if it does not answer.
async fn text(port: u16, query: &str) -> Option<String> {
    let asked = async {
        let url = format!("postgres://postgres@127.0.0.1:{port}/postgres");
        let (client, connection) = tokio_postgres::connect(&url, NoTls).await.ok()?;
        tokio::spawn(connection);
        client.query_one(query, &[]).await.ok()?.get::<_, Option<String>>(0)
    };
    timeout(Duration::from_secs(1), asked).await.ok()?
}

/// The primary, once all standbys follow it and one confirms its commits.
async fn primary(patroni: &Patroni) -> usize {
    let (began, all) = (Instant::now(), format!("{} true", MEMBERS - 1));
    loop {
        for (member, port) in patroni.ports.into_iter().enumerate() {
            let is_primary = text(port, IS_PRIMARY).await.as_deref() == Some("true");
            if is_primary && text(port, CONFIRMING).await.as_ref() == Some(&all) {
                return member;
            }
        }
        assert!(began.elapsed() < 2 * PATIENCE, "no primary with its standbys: {}", patroni.logs());
        sleep(Duration::from_millis(100)).await;
    }
}

/// Whether a member is the primary, once it answers: a standby streams before it does.
async fn answer(patroni: &Patroni, member: usize) -> String {
    let began = Instant::now();
    loop {
        if let Some(answer) = text(patroni.ports[member], IS_PRIMARY).await {
            return answer;
        }
        assert!(began.elapsed() < PATIENCE, "member {member} does not answer: {}", patroni.logs());
        sleep(Duration::from_millis(50)).await;
    }
}

/// Waits until another member than this one is the primary.
async fn wait_for_promotion(patroni: &Patroni, killed: usize) {
    let others = (0..MEMBERS).filter(|member| *member != killed).map(|member| patroni.ports[member]);
    let promoted = async {
        for port in others.cycle() {
            if text(port, IS_PRIMARY).await.as_deref() == Some("true") {
                return;
            }
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(PATIENCE, promoted).await.unwrap_or_else(|_| panic!("no promotion: {}", patroni.logs()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_go_on_with_the_primary_that_patroni_promotes() {
    let mut patroni = Patroni::start().unwrap();
    let first = primary(&patroni).await;
    let address = Address::parse(&patroni.url()).unwrap();
    migrate(&address, ENVIRONMENT).await.unwrap();
    let open = async |servers: StoreServers| Store::connect(&servers, ENVIRONMENT, &options()).await.unwrap();
    let nodes = [open(address.clone().into()).await, open(address.clone().into()).await];
    let progress = Arc::new(Progress::default());
    let writing: Vec<_> = (0..WRITERS)
        .map(|n| {
            let (here, there) = (nodes[n % 2].clone(), nodes[(n + 1) % 2].clone());
            tokio::spawn(Writer::new(format!("patroni.{n}")).write(here, there, Arc::clone(&progress)))
        })
        .collect();
    sleep(Duration::from_secs(1)).await;
    let before = progress.n_batches.load(Ordering::SeqCst);
    patroni.kill(first).unwrap();
    let killed = Instant::now();
    wait_for_promotion(&patroni, first).await;
    let took = killed.elapsed();
    progress.is_promoted.store(true, Ordering::SeqCst);
    let mut writers = Vec::new();
    for writer in writing {
        writers.push(writer.await.unwrap());
    }
    let away = killed.elapsed();
    let mut n_acknowledged = 0;
    for writer in &writers {
        assert!(!writer.knows_of_loss, "a standby had confirmed all");
        assert_eq!(writer.check(&nodes[0]).await, 0, "a standby had confirmed them");
        n_acknowledged += writer.acknowledged.len();
    }

    // The member that was killed comes back as a replica, which answers a question that names a new write.
    patroni.start_again(first).unwrap();
    let second = primary(&patroni).await;
    assert_ne!(first, second);
    assert_eq!(answer(&patroni, first).await, "false");
    let replica = format!("postgres://postgres@127.0.0.1:{}/postgres", patroni.ports[first]);
    let servers = StoreServers { replicas: vec![Address::parse(&replica).unwrap()], ..address.into() };
    let node = open(servers).await;
    let applied = node.apply(insert([public("at last")])).await.unwrap();
    let mark = WriteMark { offset: applied.offset, nonce: applied.nonce };
    let asked = node.after(WriteMark::token(&mark.to_string()));
    let page = asked.facts(pattern("is_public", &["Repository:at last"]), 10).await.unwrap();
    assert_eq!(page.facts, [public("at last")]);
    let [usage] = &node.replica_usage()[..] else { panic!("one replica") };
    assert!(usage.answered > 0, "{usage:?}");
    println!(
        "promoted after {took:?}, all writers went on after {away:?}; {n_acknowledged} batches, {before} of them \
         before, none lost"
    );
}

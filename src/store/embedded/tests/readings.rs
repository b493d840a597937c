//! Facts that are read in parts, next to the writer.

use super::*;
use crate::store::{Backend, FactReading};
use std::ops::ControlFlow;

#[tokio::test]
async fn a_reading_goes_on_where_its_part_ended_and_can_be_cut() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), &StoreOptions::default()).unwrap();
    let all: Vec<Fact> = (0..100).map(|n| fact("p", &[&format!("A:{n}"), "B:'x"])).collect();
    store.apply(vec![Change::Insert(all)]).await.unwrap();
    let pattern = FactPattern { open_arity: true, ..pattern("p", &[]) };
    let part = |reading: &FactReading| {
        let mut found = Vec::new();
        let more = reading.part(|fact| {
            found.push(fact.clone());
            if found.len() == 7 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        more.map(|more| (found, more))
    };
    let reading = store.reading(pattern.clone()).unwrap().unwrap();
    let cut = store.reading(pattern.clone()).unwrap().unwrap();
    let expected = store.facts(pattern, 1_000).await.unwrap().facts;
    store.clear().await.unwrap();
    let mut read = Vec::new();
    loop {
        let (found, more) = part(&reading).unwrap();
        read.extend(found);
        if !more {
            break;
        }
    }
    assert_eq!(read, expected);
    assert!(part(&cut).unwrap().1);
    let Backend::Embedded(embedded) = &store.backend else { panic!("embedded") };
    embedded.published.readings.cut();
    assert!(matches!(part(&cut), Err(StoreError::Busy)), "the part left is not mistaken for the rest");
}

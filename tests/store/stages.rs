//! What people see of a question on PostgreSQL: the statement, and the plan that the server makes.

use super::{ENVIRONMENT, Place, SERVER};
use portcullis::engine::{Change, Engine, EngineSettings, Fact, PolicyOptions, Value, notation};
use portcullis::store::postgres::Address;

#[tokio::test]
async fn the_plan_of_the_server_is_shown() {
    let place = Place::new("stages").await;
    let url = SERVER.url(&place.database);
    let address = Address::parse(&url).unwrap();
    let engine = Engine::connect(&address.into(), ENVIRONMENT, EngineSettings::default()).await.unwrap();
    let policy = "actor User {} declare knows(User, User);".to_owned();
    engine.set_policy(policy, "p".to_owned(), PolicyOptions::default()).await.unwrap();
    let fact = Fact::new("knows", vec![Value::new("User", "a"), Value::new("User", "b")]);
    engine.apply(vec![Change::Insert(vec![fact])]).await.unwrap();
    for question in ["knows(User:a, User:b)", "knows(User:a, User:?)"] {
        let asked = notation::parse(question).unwrap();
        let stages = engine.question_stages(&asked, &[]).await.unwrap();
        assert!(stages.statement.contains("SELECT"), "{}", stages.statement);
        assert!(stages.plan.iter().any(|step| step.contains("Scan")), "{question}: {:#?}", stages.plan);
    }
}

//! Sources and their precedence, every type, and what is said about mistakes.

use super::sources::Given;
use super::*;
use serde_json::json;
use std::path::Path;

/// What is in force with these flags and variables, and a file of this text in `/etc`.
fn settled(
    flags: &[(&'static str, &str)],
    variables: &[(&str, &str)],
    file: &str,
) -> Result<Settled, ConfigError> {
    let variable =
        |name: &str| variables.iter().find(|(given, _)| *given == name).map(|(_, text)| (*text).to_owned());
    let file = Some(file::File::parse(Path::new("/etc/portcullis.toml"), file)?);
    let flags = flags.iter().map(|(name, text)| (*name, (*text).to_owned())).collect();
    Config::settle(Given { flags, variable: &variable, file })
}

#[track_caller]
fn refuses(variables: &[(&str, &str)], file: &str, message: &str) {
    assert_eq!(settled(&[], variables, file).unwrap_err().to_string(), message);
}

#[test]
fn a_flag_wins_over_a_variable_over_the_file_over_the_default() {
    let file = "header_time = 4\nbody_time = 4\nquery_time = 4\nlisten = \"127.0.0.1:4\"\n";
    let variables = [("PORTCULLIS_BODY_TIME", "5"), ("PORTCULLIS_QUERY_TIME", "0.5"), ("PORTCULLIS_LOG", "")];
    let Settled { config, values } = settled(&[("query_time", "6")], &variables, file).unwrap();
    assert_eq!(config.listen.port(), 4);
    assert_eq!((config.header_time, config.body_time), (Duration::from_secs(4), Duration::from_secs(5)));
    assert_eq!((config.query_time, config.log.as_str()), (Duration::from_secs(6), "info"));
    let origin = |name: &str| {
        let value = values.iter().find(|value| value.name == name).unwrap();
        format!("{} from {}", value.value, value.origin)
    };
    assert_eq!(origin("header_time"), "4 from /etc/portcullis.toml:1");
    assert_eq!(origin("body_time"), "5 from PORTCULLIS_BODY_TIME");
    assert_eq!(origin("query_time"), "6 from --query-time");
    assert_eq!(origin("log"), "\"info\" from default");
    assert_eq!(origin("request_time"), "60 from default");
}

#[test]
fn every_type_is_read_from_a_file() {
    let file = r#"
        listen = "[::1]:80"
        data = "data"
        policy = "/srv/policy.polar"
        dev = true
        api_key = "e_a_b_c"
        max_body = 1_000
        max_batch = 7
        query_time = 1.5
        log_format = "json"
        otlp_endpoint = "http://localhost:4318/"
    "#;
    let config = settled(&[], &[], file).unwrap().config;
    assert_eq!(config.listen, "[::1]:80".parse().unwrap());
    assert_eq!(config.data, Path::new("/etc/data"), "a path is meant from the file's folder");
    assert_eq!(config.policy.as_deref(), Some(Path::new("/srv/policy.polar")));
    assert_eq!((config.dev, config.api_key), (true, Some(Secret("e_a_b_c".into()))));
    assert_eq!((config.max_body, config.max_batch), (1000, Some(7)));
    assert_eq!((config.query_time, config.log_format), (Duration::from_millis(1500), LogFormat::Json));
    assert_eq!(config.otlp_endpoint, Some(CollectorUrl("http://localhost:4318".into())));
}

#[test]
fn a_wrong_value_names_its_place_its_setting_and_what_is_expected() {
    refuses(
        &[("PORTCULLIS_DEV", "yes")],
        "",
        "PORTCULLIS_DEV: `yes` is not a value of `dev`, expected true or false",
    );
    refuses(
        &[("PORTCULLIS_BODY_TIME", "-1")],
        "",
        "PORTCULLIS_BODY_TIME: `-1` is not a value of `body_time`, expected a number of seconds that is not negative",
    );
    let at = |line: u32, rest: &str| format!("/etc/portcullis.toml:{line}: {rest}");
    let seconds = "expected a number of seconds";
    for (value, expected) in [
        ("query_time = \"20\"", "`\"20\"` is not a value of `query_time`, expected a number of seconds"),
        ("query_time = [\n 1,\n 2 ]", &format!("`[ 1, 2 ]` is not a value of `query_time`, {seconds}")),
        (
            "query_time = nan",
            "`nan` is not a value of `query_time`, expected a number of seconds that is not negative",
        ),
        ("max_body = 1.5", "`1.5` is not a value of `max_body`, expected a whole number"),
        ("max_body = -1", "`-1` is not a value of `max_body`, expected a whole number"),
        ("max_requests = 0", "`0` is not a value of `max_requests`, expected a whole number above zero"),
        (
            "max_connections = 0",
            "`0` is not a value of `max_connections`, expected a whole number above zero",
        ),
        ("max_body = 0x10", "`0x10` is not a value of `max_body`, expected a whole number"),
        ("dev = 1", "`1` is not a value of `dev`, expected true or false"),
        ("data = \"\"", "`\"\"` is not a value of `data`, expected a path that is not empty"),
        ("log_format = \"xml\"", "`\"xml\"` is not a value of `log_format`, expected \"text\" or \"json\""),
        (
            "otlp_endpoint = \"x:4318\"",
            "`\"x:4318\"` is not a value of `otlp_endpoint`, expected an address like \"http://127.0.0.1:4318\" or \"https://collector.example.com\", without `@`, `?` and `#`",
        ),
        (
            "decision_log_headers = \"hush\"",
            "`(secret)` is not a value of `decision_log_headers`, expected headers like \"api-key=secret, tenant=blue\", with `%2C` for a comma in a value",
        ),
    ] {
        refuses(&[], &format!("# one\n\n{value}\n"), &at(3, expected));
    }
}

#[test]
fn an_unknown_setting_is_refused() {
    refuses(
        &[],
        "dev = true\nquery_tme = 3\nport = 1\n",
        "/etc/portcullis.toml:2: there is no setting `query_tme`; `portcullis config show` lists all of them",
    );
    let table = settled(&[], &[], "[limits]\nquery_time = 3\n").unwrap_err().to_string();
    assert!(table.contains(":1: there is no setting `limits`"), "{table}");
    let broken = settled(&[], &[], "dev = true\nlisten = 127.0.0.1:80\n").unwrap_err().to_string();
    assert!(broken.starts_with("/etc/portcullis.toml:2: "), "{broken}");
    let twice = settled(&[], &[], "dev = true\ndev = false\n").unwrap_err().to_string();
    assert!(twice.starts_with("/etc/portcullis.toml:2: duplicate key"), "{twice}");
}

#[test]
fn a_secret_shows_nowhere() {
    let Settled { config, values } = settled(&[], &[], "api_key = \"e_x_1_hush\"").unwrap();
    assert!(!format!("{config:?} {values:?}").contains("hush"));
    assert_eq!(values.iter().find(|value| value.name == "api_key").unwrap().value, json!("(secret)"));
    refuses(
        &[],
        "api_key = 123456",
        "/etc/portcullis.toml:1: `(secret)` is not a value of `api_key`, expected a text in quotes",
    );
    let api_key = Config::SETTINGS.iter().find(|setting| setting.name == "api_key").unwrap();
    assert_eq!(api_key.flag(), None);
}

#[test]
fn an_address_that_may_have_a_password_shows_nowhere() {
    let file =
        "store = \"postgres://ada:hush@a/b\"\nstore_replica = \"postgres://ada:hush@c/b postgresql://d/b\"";
    let Settled { config, values } = settled(&[], &[], file).unwrap();
    assert!(!format!("{config:?} {values:?}").contains("hush"));
    let second = StoreUrl("postgresql://d/b".to_owned());
    assert_eq!((config.store_replica.0.len(), config.store_replica.0.last()), (2, Some(&second)));
    let shown = |name: &str| values.iter().find(|value| value.name == name).unwrap().value.clone();
    assert_eq!((shown("store"), shown("store_replica")), (json!("(set)"), json!("(2 set)")));
    for name in ["store", "store_replica"] {
        let wrong =
            settled(&[], &[], &format!("{name} = \"postgre://ada:hush@a/b\"")).unwrap_err().to_string();
        assert!(wrong.contains("`(secret)` is not a value of") && !wrong.contains("hush"), "{wrong}");
    }
    for name in ["otlp_endpoint", "decision_log_endpoint"] {
        for url in ["https://me:hush@c.example", "https://c.example/v1?key=hush"] {
            let variable = format!("PORTCULLIS_{}", name.to_uppercase());
            let in_file = format!("{name} = \"{url}\"");
            for wrong in [settled(&[], &[], &in_file), settled(&[], &[(&variable, url)], "")] {
                let wrong = wrong.unwrap_err().to_string();
                let says_so = wrong.contains("`(an address that may have a secret)` is not a value of");
                assert!(says_so && !wrong.contains("hush"), "{wrong}");
            }
        }
    }
}

#[test]
fn the_names_follow_from_one_declaration() {
    let query_time = Config::SETTINGS.iter().find(|setting| setting.name == "query_time").unwrap();
    assert_eq!(query_time.variable(), "PORTCULLIS_QUERY_TIME");
    assert_eq!(query_time.flag().as_deref(), Some("query-time"));
    assert!(
        query_time.why.starts_with("How long one question may run; the limit of Oso Cloud."),
        "{}",
        query_time.why
    );
    assert_eq!((query_time.check("1"), query_time.check("x")), (Ok(()), Err("a number of seconds")));
}

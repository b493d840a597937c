//! `config show`, the flags of `serve`, and what is said about a setting that is wrong.

use portcullis::config::Config;
use portcullis_testkit::program::portcullis;
use serde_json::Value as Json;
use std::fs;
use std::process::Output;

/// Exit code, standard output, standard error of a run with a settings file of this text.
fn run(file: &str, variables: &[(&str, &str)], args: &[&str]) -> (i32, String, String) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("p.toml"), file).unwrap();
    let Output { status, stdout, stderr } =
        portcullis(folder.path()).args(args).envs(variables.iter().copied()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

#[test]
fn config_show_tells_every_value_and_where_it_comes_from() {
    let file = "query_time = 3\nmax_batch = 9\napi_key = \"e_0123456789_1_hush\"\n";
    let variables = [("PORTCULLIS_CONFIG", "p.toml"), ("PORTCULLIS_MAX_BATCH", "10")];
    let (code, out, err) = run(file, &variables, &["config", "show", "--listen", "[::1]:9", "--dev"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let rows: Vec<Vec<&str>> = out.lines().map(|line| line.split_whitespace().collect()).collect();
    for row in [
        ["listen", "[::1]:9", "--listen"],
        ["dev", "true", "--dev"],
        ["query_time", "3", "p.toml:1"],
        ["max_batch", "10", "PORTCULLIS_MAX_BATCH"],
        ["api_key", "(secret)", "p.toml:3"],
        ["policy", "none", "default"],
    ] {
        assert!(rows.iter().any(|found| *found == row), "{row:?} in\n{out}");
    }
    for setting in Config::SETTINGS {
        assert!(rows.iter().any(|row| row.first() == Some(&setting.name)), "{} in\n{out}", setting.name);
    }
    assert!(!out.contains("hush"), "{out}");

    let (code, out, _) = run(file, &[], &["config", "show", "--json", "--config", "p.toml"]);
    let shown: Json = serde_json::from_str(&out).unwrap();
    assert_eq!((code, shown.as_object().unwrap().len()), (0, Config::SETTINGS.len()));
    let entry = |name: &str| (shown[name]["value"].clone(), shown[name]["from"].as_str().unwrap());
    assert_eq!(entry("query_time"), (3.into(), "file"));
    assert_eq!(entry("max_body"), (10_485_760.into(), "default"));
    assert_eq!(entry("api_key"), ("(secret)".into(), "file"));
    assert!(!out.contains("hush"), "{out}");
}

#[test]
fn a_wrong_setting_ends_the_start_with_its_place() {
    let serve = ["serve", "--config", "p.toml"];
    let (code, out, err) = run("dev = true\nqery_time = 3\n", &[], &serve);
    assert_eq!((code, out.as_str()), (1, ""));
    assert_eq!(
        err,
        "error: p.toml:2: there is no setting `qery_time`; `portcullis config show` lists all of them\n"
    );
    let (code, _, err) = run("query_time = true\n", &[], &serve);
    assert_eq!(code, 1);
    assert_eq!(err, "error: p.toml:1: `true` is not a value of `query_time`, expected a number of seconds\n");
    let (code, _, err) = run("", &[("PORTCULLIS_LISTEN", "here")], &serve);
    assert!(code == 1 && err.starts_with("error: PORTCULLIS_LISTEN: `here` is not a value"), "{err}");
    let (code, _, err) = run("", &[], &["serve", "--config", "missing.toml"]);
    assert!(code == 1 && err.starts_with("error: cannot read the settings in `missing.toml`: "), "{err}");
    let (code, _, err) = run("", &[], &["serve", "--query-time", "soon"]);
    assert!(code == 2 && err.contains("'--query-time <SECONDS>': expected a number of seconds"), "{err}");
    let secret = ["serve", "--decision-log-endpoint", "https://me:hush@c.example"];
    let (code, _, err) = run("", &[], &secret);
    let start = "error: --decision-log-endpoint: `(an address that may have a secret)` is not a value";
    assert!(code == 1 && err.starts_with(start) && !err.contains("hush"), "{err}");
    let (code, _, err) = run("", &[], &["serve", "--store", "postgre://me:hush@db/b"]);
    assert!(code == 1 && err.starts_with("error: --store: `(secret)` is not a value"), "{err}");
    let (code, _, err) = run("", &[], &["serve", "--tls-cert", "p.toml"]);
    assert!(code == 1 && err.contains("`tls_cert` and `tls_key` belong together"), "{err}");
    let (code, _, err) = run("", &[], &["serve", "--tls-cert", "p.toml", "--tls-key", "p.toml"]);
    assert!(code == 1 && err.starts_with("error: `p.toml` contains no certificate"), "{err}");
}

#[test]
fn the_help_of_serve_names_every_flag_once() {
    for (flag, longest) in [("-h", 90), ("--help", 260)] {
        let (code, help, _) = run("", &[], &["serve", flag]);
        assert_eq!(code, 0);
        assert!(help.lines().count() < longest, "{help}");
        for setting in Config::SETTINGS {
            let n_lines =
                |text: &str| help.lines().filter(|line| line.trim_start().starts_with(text)).count();
            if let Some(flag) = setting.flag() {
                let n = n_lines(&format!("--{flag} ")) + n_lines(&format!("--{flag}["));
                assert_eq!(n, 1, "--{flag} in\n{help}");
            }
            assert!(help.contains(&format!("{}:", setting.group)), "{} in\n{help}", setting.group);
        }
        assert!(!help.contains("api-key"), "no secret is on a command line");
    }
}

#[test]
fn every_command_finds_the_data_folder_of_the_settings() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("p.toml"), "data = \"elsewhere\"\n").unwrap();
    for (args, made) in [
        (&["keys", "create"][..], "elsewhere/0123456789/store.db"),
        (&["backup", "b.db"], "b.db"),
        (&["restore", "b.db", "--environment", "look"], "elsewhere/look/store.db"),
    ] {
        assert!(
            portcullis(folder.path()).args(args).args(["--config", "p.toml"]).status().unwrap().success()
        );
        assert!(folder.path().join(made).is_file(), "{args:?}");
    }
    assert!(!folder.path().join("portcullis-data").exists());
}

//! A flag for every setting, generated from the table in `config`.
//!
//! In: the arguments of a command that uses settings. Out: the path of the settings file and the given texts,
//! each checked to be a value of its setting. The help groups the flags like the table. `-h` says what a
//! setting is, `--help` adds the reason for its default.

use super::error::CliError;
use crate::config::{Config, FlagForm, Flags, Setting, Settled};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use serde_json::Value as Json;
use std::path::PathBuf;

/// The settings on a command line.
#[derive(Clone, Debug)]
pub(super) struct SettingFlags {
    file: Option<PathBuf>,
    flags: Flags,
}

impl SettingFlags {
    /// The settings in force with these flags.
    pub(super) fn settled(self) -> Result<Settled, CliError> {
        Ok(Config::load(self.file, self.flags)?)
    }
}

impl clap::FromArgMatches for SettingFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |setting: &Setting| {
            setting.flag()?;
            let texts: Vec<&str> = matches.get_many::<String>(setting.name)?.map(String::as_str).collect();
            Some((setting.name, texts.join(" ")))
        };
        Ok(Self {
            file: matches.get_one("config").cloned(),
            flags: Config::SETTINGS.iter().filter_map(given).collect(),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Args for SettingFlags {
    fn augment_args(command: Command) -> Command {
        let file = Arg::new("config")
            .long("config")
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .help("The settings file, TOML [variable: PORTCULLIS_CONFIG]");
        let defaults = Config::default().shown();
        let args = Config::SETTINGS.iter().zip(defaults);
        let args = args.filter_map(|(setting, default)| arg(setting, &default));
        args.fold(command.arg(file), Command::arg)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// The flag of a setting.
fn arg(setting: &'static Setting, default: &Json) -> Option<Arg> {
    let default = match default {
        Json::Null | Json::Bool(_) => String::new(),
        Json::String(text) => format!(" [default: {text}]"),
        other => format!(" [default: {other}]"),
    };
    let check = |text: &str| match setting.check(text) {
        Ok(()) => Ok(text.to_owned()),
        // Clap would show it; the error of the settings does not.
        Err(_) if !setting.may_show_wrong(text) => Ok(text.to_owned()),
        Err(expected) => Err(format!("expected {expected}")),
    };
    let arg = Arg::new(setting.name)
        .long(setting.flag()?)
        .help_heading(setting.group)
        .value_parser(check)
        .action(ArgAction::Set)
        .help(format!("{}{default}", what(setting.why)))
        .long_help(format!("{}{default}", setting.why));
    Some(match setting.form {
        FlagForm::Text(name) => arg.value_name(name),
        FlagForm::Texts(name) => arg.value_name(name).action(ArgAction::Append),
        FlagForm::Switch | FlagForm::Secret => {
            arg.value_name("BOOL").num_args(0..=1).require_equals(true).default_missing_value("true")
        }
    })
}

/// What a setting is, without the reason for its default.
fn what(why: &str) -> &str {
    let end = ["; ", ". "].iter().filter_map(|mark| why.find(mark)).min();
    why.get(..end.unwrap_or(why.len())).unwrap_or(why).trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use super::what;

    #[test]
    fn only_the_long_help_gives_the_reason() {
        assert_eq!(what("Where it listens; loopback, because one must. And more."), "Where it listens");
        assert_eq!(what("The key of that certificate. None."), "The key of that certificate");
        assert_eq!(what("Like `http://127.0.0.1:4318`."), "Like `http://127.0.0.1:4318`");
    }
}

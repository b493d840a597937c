//! Decides which source gives a setting its value: flag, variable, file or default, in this order.

use super::file::{File, TomlValue};
use super::value::SettingValue;
use super::{Config, ConfigError};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// The variable that names the settings file if no flag does.
const FILE_VARIABLE: &str = "PORTCULLIS_CONFIG";

/// The flags of a command line: names of settings with their texts.
pub type Flags = BTreeMap<&'static str, String>;

/// The settings in force, with their origins.
#[derive(Clone, Debug)]
pub struct Settled {
    /// Every setting with its value.
    pub config: Config,
    /// The same to be shown, in the order of [`Config::SETTINGS`].
    pub values: Vec<InForce>,
}

impl Settled {
    /// Whether a source gives the setting a value.
    pub fn gives(&self, name: &str) -> bool {
        self.values.iter().any(|value| value.name == name && value.origin != SettingOrigin::Default)
    }
}

/// The value of a setting in force.
#[derive(Clone, Debug, PartialEq)]
pub struct InForce {
    /// The setting.
    pub name: &'static str,
    /// The value as data; a secret shows only whether it is set.
    pub value: serde_json::Value,
    /// Where it comes from.
    pub origin: SettingOrigin,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingOrigin {
    /// None was given.
    Default,
    /// The settings file.
    File {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// This variable of the environment.
    Variable(String),
    /// This flag.
    Flag(String),
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Variable(name) => f.write_str(name),
            Self::Flag(name) => write!(f, "--{name}"),
        }
    }
}

/// The variable of a setting.
pub(super) fn variable(name: &str) -> String {
    format!("PORTCULLIS_{}", name.to_uppercase())
}

/// The flag of a setting, without the leading dashes.
pub(super) fn flag(name: &str) -> String {
    name.replace('_', "-")
}

/// Everything that was given, from all sources.
pub(super) struct Given<'a> {
    pub(super) flags: Flags,
    pub(super) variable: &'a dyn Fn(&str) -> Option<String>,
    pub(super) file: Option<File>,
}

impl<'a> Given<'a> {
    /// Reads the settings file, if the command line or the environment names one.
    pub(super) fn collect(
        file: Option<PathBuf>,
        flags: Flags,
        variable: &'a dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        let named = || variable(FILE_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
        let file = file.or_else(named).map(|path| File::read(&path)).transpose()?;
        Ok(Self { flags, variable, file })
    }

    /// Replaces a default with what was given, if anything.
    pub(super) fn lay_over<T: SettingValue>(
        &mut self,
        name: &'static str,
        value: &mut T,
    ) -> Result<InForce, ConfigError> {
        let mut origin = SettingOrigin::Default;
        if let Some(file) = &mut self.file
            && let Some(entry) = file.take(name)
        {
            origin = file.place(&entry);
            let read = read_written(&entry.value, file.folder());
            *value = read.map_err(|expected| ConfigError::Value {
                place: origin.clone(),
                name,
                text: T::show_wrong(entry.written),
                expected,
            })?;
        }
        let flag = self.flags.remove(name).map(|text| (SettingOrigin::Flag(flag(name)), text));
        let variable = variable(name);
        let from_environment = || (self.variable)(&variable).filter(|text| !text.is_empty());
        let text =
            flag.or_else(|| from_environment().map(|text| (SettingOrigin::Variable(variable.clone()), text)));
        if let Some((place, text)) = text {
            *value = T::parse(&text).map_err(|expected| ConfigError::Value {
                place: place.clone(),
                name,
                text: T::show_wrong(text),
                expected,
            })?;
            origin = place;
        }
        Ok(InForce { name, value: value.show(), origin })
    }

    /// Refuses unknown settings in the file.
    pub(super) fn nothing_left(&self) -> Result<(), ConfigError> {
        match self.file.as_ref().and_then(File::left) {
            None => Ok(()),
            Some((key, place)) => Err(ConfigError::Unknown { place, key: key.to_owned() }),
        }
    }
}

/// Parses a value from a file; paths are relative to the file's folder.
fn read_written<T: SettingValue>(written: &TomlValue, folder: &Path) -> Result<T, &'static str> {
    let text = T::text_of(written).ok_or(T::EXPECTED)?;
    Ok(T::parse(&text)?.seen_from(folder))
}

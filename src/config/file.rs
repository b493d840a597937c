//! The settings file: TOML, with one key for each setting.
//!
//! In: a path. Out: every key with its value and its line. Its users take the keys they know; keys that are
//! left over are unknown settings.

use super::{ConfigError, SettingOrigin};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};

/// A file that was read.
#[derive(Debug)]
pub(super) struct File {
    path: PathBuf,
    entries: BTreeMap<String, FileEntry>,
}

/// The value of a key.
#[derive(Debug)]
pub(super) struct FileEntry {
    pub(super) line: usize,
    /// The value as written, on one line.
    pub(super) written: String,
    pub(super) value: TomlValue,
}

/// The TOML types of settings.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TomlValue {
    /// A string.
    Text(String),
    /// An integer or a float, as its text.
    Number(String),
    /// `true` or `false`.
    Truth(bool),
    /// Anything else: a date, a list, a table, a number in another base.
    Other,
}

impl File {
    /// Reads a file.
    pub(super) fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| ConfigError::Unreadable { path: path.to_owned(), reason: error.to_string() })?;
        Self::parse(path, &text)
    }

    /// Reads the text of a file.
    pub(super) fn parse(path: &Path, text: &str) -> Result<Self, ConfigError> {
        let line_of = |at: usize| 1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count();
        let table = DeTable::parse(text).map_err(|error| ConfigError::Syntax {
            place: SettingOrigin::File {
                path: path.to_owned(),
                line: line_of(error.span().unwrap_or_default().start),
            },
            reason: error.message().to_owned(),
        })?;
        let entries = table.into_inner().into_iter().map(|(key, value)| {
            let written = text.get(value.span()).unwrap_or_default();
            let entry = FileEntry {
                line: line_of(key.span().start),
                written: written.split_whitespace().collect::<Vec<_>>().join(" "),
                value: TomlValue::of(value.get_ref()),
            };
            (key.get_ref().to_string(), entry)
        });
        Ok(Self { path: path.to_owned(), entries: entries.collect() })
    }

    /// Takes the value of a key.
    pub(super) fn take(&mut self, key: &str) -> Option<FileEntry> {
        self.entries.remove(key)
    }

    /// The first key by line that was not taken.
    pub(super) fn left(&self) -> Option<(&str, SettingOrigin)> {
        let (key, entry) = self.entries.iter().min_by_key(|(_, entry)| entry.line)?;
        Some((key, self.place(entry)))
    }

    /// The position of an entry.
    pub(super) fn place(&self, entry: &FileEntry) -> SettingOrigin {
        SettingOrigin::File { path: self.path.clone(), line: entry.line }
    }

    /// The folder to which paths in the file are relative.
    pub(super) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }
}

impl TomlValue {
    fn of(value: &DeValue<'_>) -> Self {
        match value {
            DeValue::String(text) => Self::Text(text.to_string()),
            DeValue::Integer(number) if number.radix() == 10 => Self::Number(number.as_str().to_owned()),
            DeValue::Float(number) => Self::Number(number.as_str().to_owned()),
            DeValue::Boolean(truth) => Self::Truth(*truth),
            DeValue::Integer(_) | DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => Self::Other,
        }
    }
}

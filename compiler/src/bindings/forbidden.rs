//! Rejects SQL that could do more than read, judged by its tokens alone.
//!
//! A bound query may only read. Databases themselves reject most writes inside parentheses, but these rules
//! rely neither on that nor on sqlparser's tree. They err on the strict side, and each message says how to
//! write a harmless query that looks similar: a column called `delete` must be quoted.
//!
//! Functions are recognised by name only. A user-defined function may do anything; but the database is the
//! caller's, and the statement runs with the caller's privileges.

use super::token::{Lexeme, Token};

/// Functions of PostgreSQL, its common extensions and SQLite that change something, wait, signal, access
/// files or other servers, or run SQL passed as text. A `*` matches any suffix.
const FUNCTIONS: &[&str] = &[
    // Sequences, settings, transactions.
    "nextval",
    "setval",
    "set_config",
    "setseed",
    "pg_notify",
    "pg_export_snapshot",
    "pg_current_xact_id",
    "txid_current",
    // Waiting and locking.
    "pg_sleep*",
    "pg_advisory_*",
    "pg_try_advisory_*",
    "pg_isolation_test_*",
    // The server itself.
    "pg_cancel_backend",
    "pg_terminate_backend",
    "pg_reload_conf",
    "pg_rotate_logfile*",
    "pg_log_*",
    "pg_promote",
    "pg_switch_wal",
    "pg_create_*",
    "pg_drop_*",
    "pg_copy_*",
    "pg_start_backup",
    "pg_stop_backup",
    "pg_backup_*",
    "pg_wal_replay_*",
    "pg_logical_*",
    "pg_replication_*",
    "pg_sync_replication_slots",
    "pg_stat_reset*",
    "pg_stat_statements_reset",
    "pg_stat_clear_*",
    "pg_stat_force_*",
    "pg_restore_*",
    "pg_clear_*",
    "pg_import_system_collations",
    "pg_extension_config_dump",
    "pg_nextoid",
    "pg_stop_making_pinned_objects",
    "pg_prewarm",
    "autoprewarm_*",
    "binary_upgrade_*",
    "brin_summarize_*",
    "brin_desummarize_*",
    "gin_clean_pending_list",
    // Files and other servers.
    "pg_read_*",
    "pg_write*",
    "pg_file_*",
    "pg_stat_file",
    "pg_ls_*",
    "pg_current_logfile",
    "pg_hba_file_rules",
    "pg_ident_file_mappings",
    "pg_show_all_file_settings",
    "dblink*",
    "postgres_fdw_*",
    "http",
    "http_*",
    "lo_creat",
    "lo_create",
    "lo_open",
    "lo_close",
    "lo_get",
    "lo_put",
    "lo_lseek*",
    "lo_tell*",
    "lo_truncate*",
    "lo_unlink",
    "lo_import",
    "lo_export",
    "lo_from_bytea",
    "loread",
    "lowrite",
    // SQL passed as text.
    "query_to_xml*",
    "cursor_to_xml*",
    "table_to_xml*",
    "schema_to_xml*",
    "database_to_xml*",
    "ts_stat",
    "ts_rewrite",
    "xpath_table",
    "crosstab*",
    "connectby",
    // SQLite and its shell.
    "load_extension",
    "readfile",
    "writefile",
    "fsdir",
    "lsdir",
    "edit",
    "eval",
    "fts3_tokenizer",
    "shell_*",
];

/// Aggregate functions.
const AGGREGATES: &[&str] = &[
    "any_value",
    "array_agg",
    "avg",
    "bit_and",
    "bit_or",
    "bit_xor",
    "bool_and",
    "bool_or",
    "corr",
    "count",
    "covar_*",
    "every",
    "group_concat",
    "json_agg*",
    "json_arrayagg",
    "json_group_*",
    "json_object_agg*",
    "json_objectagg",
    "jsonb_agg*",
    "jsonb_group_*",
    "jsonb_object_agg*",
    "max",
    "median",
    "min",
    "mode",
    "percentile_*",
    "range_agg",
    "range_intersect_agg",
    "regr_*",
    "stddev*",
    "string_agg",
    "sum",
    "total",
    "var_*",
    "variance",
    "xmlagg",
];

/// Words that may follow a column, even one named like a statement.
const BEHIND_A_COLUMN: &[&str] = &[
    "and",
    "as",
    "asc",
    "at",
    "between",
    "collate",
    "desc",
    "except",
    "filter",
    "ilike",
    "in",
    "intersect",
    "is",
    "isnull",
    "like",
    "limit",
    "not",
    "notnull",
    "or",
    "order",
    "over",
    "similar",
    "then",
    "union",
    "where",
];

/// Rejects a query that could do more than read.
pub(super) fn reads_only(lexemes: &[Lexeme]) -> Result<(), String> {
    for at in 0..lexemes.len() {
        let place = Neighbours { lexemes, at };
        if place.is(0, "into") {
            return Err("writes INTO a table: a bound query only reads".to_owned());
        }
        if place.locks() {
            return Err("locks the rows that it reads: remove FOR UPDATE or the like".to_owned());
        }
        if let Some(word) = place.writes() {
            return Err(format!(
                "contains {}, but a bound query only reads; if this is a column's name, quote it",
                word.to_uppercase()
            ));
        }
        if let Some(name) = place.calls_one_of(FUNCTIONS) {
            return Err(format!("calls `{name}`, which does more than read tables: remove it"));
        }
    }
    Ok(())
}

/// Rejects an expression that is not computed from a single row.
pub(super) fn reads_one_row(lexemes: &[Lexeme]) -> Result<(), String> {
    for at in 0..lexemes.len() {
        let place = Neighbours { lexemes, at };
        if ["select", "values", "table", "exists"].iter().any(|word| place.is(0, word)) {
            return Err("contains a query: name a column".to_owned());
        }
        if place.is(0, "over") && place.token(1).is_some() {
            return Err("contains a window function: name a column".to_owned());
        }
        let stands_for_all = matches!(place.token(-1), None | Some(Token::Period | Token::Open(_)));
        if place.token(0) == Some(&Token::Operator("*")) && stands_for_all {
            return Err("contains a `*`: name one column".to_owned());
        }
        if let Some(name) = place.calls_one_of(AGGREGATES) {
            return Err(format!("calls `{name}`, which aggregates rows: name a column"));
        }
    }
    reads_only(lexemes)
}

/// A token with its neighbours.
struct Neighbours<'a> {
    lexemes: &'a [Lexeme],
    at: usize,
}

impl<'a> Neighbours<'a> {
    /// The token at an offset.
    fn token(&self, offset: isize) -> Option<&'a Token> {
        self.lexemes.get(self.at.checked_add_signed(offset)?).map(|lexeme| &lexeme.token)
    }

    fn is(&self, offset: isize, word: &str) -> bool {
        self.token(offset).is_some_and(|token| token.is(word))
    }

    /// `FOR UPDATE`, `FOR NO KEY UPDATE`, `FOR SHARE`, `FOR KEY SHARE`
    fn locks(&self) -> bool {
        self.is(0, "for")
            && (self.is(1, "update")
                || self.is(1, "share")
                || (self.is(1, "no") && self.is(2, "key"))
                || (self.is(1, "key") && self.is(2, "share")))
    }

    /// The keyword of a writing statement, if one begins here.
    fn writes(&self) -> Option<&'static str> {
        let words = ["insert", "update", "delete", "merge", "replace"];
        let word = words.into_iter().find(|word| self.is(0, word))?;
        let begins = matches!(self.token(-1), None | Some(Token::Open('(') | Token::Close(')')));
        let goes_on = self.token(1)?.is_wordlike() && !BEHIND_A_COLUMN.iter().any(|word| self.is(1, word));
        (begins && goes_on).then_some(word)
    }

    /// The name of the function called here, if it is one of these. PostgreSQL also reads `(x).f` as `f(x)`.
    fn calls_one_of(&self, functions: &[&str]) -> Option<String> {
        let (Token::Word(name) | Token::Name { text: name, .. }) = self.token(0)? else { return None };
        let behind_value =
            self.token(-1) == Some(&Token::Period) && matches!(self.token(-2), Some(Token::Close(_)));
        if self.token(1) != Some(&Token::Open('(')) && !behind_value {
            return None;
        }
        let name = name.to_lowercase();
        let is_one = functions.iter().any(|function| match function.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == *function,
        });
        is_one.then_some(name)
    }
}

-- A store as the first format had it: every id is text, and the name of a relationship is a column.
CREATE TABLE meta (name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
INSERT INTO meta VALUES ('offset', 0), ('secret', zeroblob(32));
CREATE TABLE relation (
    id INTEGER PRIMARY KEY AUTOINCREMENT, predicate TEXT NOT NULL, types TEXT NOT NULL, facts INTEGER NOT NULL,
    UNIQUE (predicate, types)
);
INSERT INTO relation VALUES
    (1, 'has_relation', '["Issue","String","Issue"]', 0), (2, 'has_role', '["User","String","Repo"]', 0), (5, 'p', '["T"]', 0);
CREATE TABLE f1 (a0 TEXT NOT NULL, a1 TEXT NOT NULL, a2 TEXT NOT NULL, PRIMARY KEY (a0, a1, a2)) WITHOUT ROWID;
CREATE INDEX f1r ON f1 (a2, a1, a0);
CREATE TABLE f2 (a0 TEXT NOT NULL, a1 TEXT NOT NULL, a2 TEXT NOT NULL, PRIMARY KEY (a0, a1, a2)) WITHOUT ROWID;
CREATE INDEX f2r ON f2 (a2, a1, a0);
CREATE TABLE f5 (a0 TEXT NOT NULL, PRIMARY KEY (a0)) WITHOUT ROWID;
CREATE TABLE policy (
    id INTEGER PRIMARY KEY AUTOINCREMENT, src TEXT NOT NULL, filename TEXT NOT NULL, created INTEGER NOT NULL,
    active INTEGER NOT NULL
);
CREATE UNIQUE INDEX policy_active ON policy (active) WHERE active = 1;
CREATE TABLE key (
    id TEXT PRIMARY KEY, environment TEXT NOT NULL, name TEXT NOT NULL, access TEXT NOT NULL,
    created INTEGER NOT NULL, revoked INTEGER NOT NULL, hash BLOB NOT NULL
) WITHOUT ROWID;
PRAGMA journal_mode = WAL;
PRAGMA application_id = 0x5074636c;
PRAGMA user_version = 1;

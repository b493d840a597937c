-- The application's tables with a few rows, for SQLite and PostgreSQL.
CREATE TABLE memberships (
  user_id INTEGER NOT NULL,
  organization_id INTEGER NOT NULL,
  role TEXT NOT NULL,
  PRIMARY KEY (user_id, organization_id)
);
CREATE TABLE documents (
  id INTEGER NOT NULL PRIMARY KEY,
  organization_id INTEGER NOT NULL,
  owner_id INTEGER NOT NULL,
  public BOOLEAN NOT NULL
);
CREATE INDEX documents_by_organization ON documents (organization_id);
CREATE INDEX documents_by_owner ON documents (owner_id);
CREATE INDEX public_documents ON documents (id) WHERE public;

INSERT INTO memberships VALUES (1, 1, 'member'), (2, 1, 'admin');
INSERT INTO documents VALUES (10, 1, 3, false), (11, 2, 2, true), (12, 2, 1, false);

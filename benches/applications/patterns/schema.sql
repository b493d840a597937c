-- One table of documents with what policies look at, and the folders that they are in.
CREATE TABLE folders (
  id integer PRIMARY KEY,
  archived boolean NOT NULL
);

CREATE TABLE documents (
  id integer PRIMARY KEY,
  owner_id integer NOT NULL,
  folder_id integer NOT NULL,
  shelf_id integer, -- a second folder, if there is one
  deleted boolean NOT NULL,
  public boolean NOT NULL,
  status text NOT NULL,
  size integer NOT NULL,
  created_at timestamptz NOT NULL
);

CREATE TABLE folder_roles (
  user_id integer,
  folder_id integer,
  role text NOT NULL,
  PRIMARY KEY (user_id, folder_id)
);

CREATE TABLE document_blocks (
  document_id integer,
  user_id integer,
  PRIMARY KEY (document_id, user_id)
);

CREATE TABLE limits (
  user_id integer PRIMARY KEY,
  most integer NOT NULL
);

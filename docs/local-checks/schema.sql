-- The application's own tables: a code host on PostgreSQL.
--
-- Nothing here is specific to authorization. The SQL of Portcullis needs only an index for each foreign key that
-- a question follows, in the direction in which it is followed.

CREATE TABLE users (
  id integer PRIMARY KEY,
  name text NOT NULL
);

CREATE TABLE banned_users (
  user_id integer PRIMARY KEY REFERENCES users,
  since timestamptz NOT NULL
);

CREATE TABLE organizations (
  id text PRIMARY KEY,                            -- used in URLs: acme
  name text NOT NULL
);

CREATE TABLE organization_members (
  organization_id text NOT NULL REFERENCES organizations,
  user_id integer NOT NULL REFERENCES users,
  role text NOT NULL CHECK (role IN ('admin', 'maintainer', 'reader')),
  PRIMARY KEY (user_id, organization_id)
);
CREATE INDEX ON organization_members (organization_id);

CREATE TABLE groups (
  id uuid PRIMARY KEY,
  parent_id uuid REFERENCES groups,               -- the parent group, if any
  name text NOT NULL
);
CREATE INDEX ON groups (parent_id);

CREATE TABLE group_members (
  group_id uuid NOT NULL REFERENCES groups,
  user_id integer NOT NULL REFERENCES users,
  PRIMARY KEY (user_id, group_id)
);
CREATE INDEX ON group_members (group_id);

CREATE TABLE folders (
  id integer PRIMARY KEY,
  organization_id text REFERENCES organizations,  -- only for top-level folders
  parent_id integer REFERENCES folders,
  name text NOT NULL,
  CHECK (num_nonnulls(organization_id, parent_id) = 1)
);
CREATE INDEX ON folders (organization_id);
CREATE INDEX ON folders (parent_id);

CREATE TABLE folder_group_grants (
  folder_id integer NOT NULL REFERENCES folders,
  group_id uuid NOT NULL REFERENCES groups,
  role text NOT NULL CHECK (role IN ('admin', 'maintainer', 'reader')),
  PRIMARY KEY (folder_id, group_id)
);
CREATE INDEX ON folder_group_grants (group_id);

CREATE TABLE repositories (
  id integer PRIMARY KEY,
  organization_id text REFERENCES organizations,  -- only without a folder
  folder_id integer REFERENCES folders,
  name text NOT NULL,
  public boolean NOT NULL,
  CHECK (num_nonnulls(organization_id, folder_id) = 1)
);
CREATE INDEX ON repositories (organization_id);
CREATE INDEX ON repositories (folder_id);
CREATE INDEX ON repositories (id) WHERE public;

CREATE TABLE repository_user_grants (
  repository_id integer NOT NULL REFERENCES repositories,
  user_id integer NOT NULL REFERENCES users,
  role text NOT NULL CHECK (role IN ('admin', 'maintainer', 'reader')),
  PRIMARY KEY (repository_id, user_id)
);
CREATE INDEX ON repository_user_grants (user_id);

CREATE TABLE repository_group_grants (
  repository_id integer NOT NULL REFERENCES repositories,
  group_id uuid NOT NULL REFERENCES groups,
  role text NOT NULL CHECK (role IN ('admin', 'maintainer', 'reader')),
  PRIMARY KEY (repository_id, group_id)
);
CREATE INDEX ON repository_group_grants (group_id);

CREATE TABLE issues (
  id bigint PRIMARY KEY,
  repository_id integer NOT NULL REFERENCES repositories,
  creator_id integer REFERENCES users,            -- unknown for imported issues
  title text NOT NULL,
  closed boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL
);
CREATE INDEX ON issues (repository_id);
CREATE INDEX ON issues (creator_id);
CREATE INDEX ON issues (created_at DESC);

-- The application's own tables: a code host on PostgreSQL.
--
-- Nothing here is made for authorization. Every foreign key that a question follows has an index, in the
-- direction in which it is followed; that is all that the SQL of Portcullis needs.

CREATE TABLE users (
  id integer PRIMARY KEY,
  name text NOT NULL
);

CREATE TABLE banned_users (
  user_id integer PRIMARY KEY REFERENCES users,
  since timestamptz NOT NULL
);

CREATE TABLE organizations (
  id text PRIMARY KEY,                            -- what stands in the address: acme
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
  parent_id uuid REFERENCES groups,               -- the group that it lies in, if any
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
  organization_id text REFERENCES organizations,  -- of a folder that lies in no other
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
  organization_id text REFERENCES organizations,  -- of a repository that lies in no folder
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

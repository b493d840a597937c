-- Files in nested folders, shared with users and with nested groups. All keys are UUIDs.
CREATE TYPE access AS ENUM ('reader', 'writer', 'owner');

CREATE TABLE groups (
  id uuid PRIMARY KEY,
  parent_id uuid
);

CREATE TABLE group_members (
  group_id uuid NOT NULL,
  user_id uuid NOT NULL,
  PRIMARY KEY (user_id, group_id)
);

CREATE TABLE folders (
  id uuid PRIMARY KEY,
  parent_id uuid,
  owner_id uuid
);

CREATE TABLE folder_user_grants (
  folder_id uuid NOT NULL,
  user_id uuid NOT NULL,
  role access NOT NULL,
  PRIMARY KEY (user_id, folder_id)
);

CREATE TABLE folder_group_grants (
  folder_id uuid NOT NULL,
  group_id uuid NOT NULL,
  role access NOT NULL,
  PRIMARY KEY (group_id, folder_id)
);

CREATE TABLE files (
  id uuid PRIMARY KEY,
  folder_id uuid, -- NULL: not filed yet
  owner_id uuid,
  public boolean, -- NULL: as the folder is
  locked_by uuid,
  size bigint,
  modified_at timestamptz NOT NULL
);

CREATE TABLE file_user_grants (
  file_id uuid NOT NULL,
  user_id uuid NOT NULL,
  role access NOT NULL,
  PRIMARY KEY (user_id, file_id)
);

CREATE TABLE file_group_grants (
  file_id uuid NOT NULL,
  group_id uuid NOT NULL,
  role access NOT NULL,
  PRIMARY KEY (group_id, file_id)
);

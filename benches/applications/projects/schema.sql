-- Tenants with projects and tasks. A tenant's key is a text, all other keys are numbers.
CREATE TABLE tenants (
  slug text PRIMARY KEY,
  suspended boolean NOT NULL
);

CREATE TABLE memberships (
  tenant text NOT NULL,
  user_id bigint NOT NULL,
  role text NOT NULL,
  PRIMARY KEY (user_id, tenant)
);

CREATE TABLE projects (
  id bigint PRIMARY KEY,
  tenant text NOT NULL,
  lead_id bigint,
  private boolean NOT NULL
);

CREATE TABLE project_members (
  project_id bigint NOT NULL,
  user_id bigint NOT NULL,
  role text NOT NULL,
  PRIMARY KEY (user_id, project_id)
);

CREATE TABLE tasks (
  id bigint PRIMARY KEY,
  project_id bigint NOT NULL,
  tenant text NOT NULL, -- that of the project
  creator_id bigint NOT NULL,
  assignee_id bigint,
  state text NOT NULL,
  created_at timestamptz NOT NULL
);

CREATE INDEX ON memberships (tenant);
CREATE INDEX ON projects (tenant);
CREATE INDEX ON projects (lead_id);
CREATE INDEX ON project_members (project_id);
CREATE INDEX ON tasks (project_id);
CREATE INDEX ON tasks (creator_id);
CREATE INDEX ON tasks (assignee_id);
CREATE INDEX ON tasks (created_at DESC, id DESC);
CREATE INDEX ON tasks (tenant, created_at DESC, id DESC);

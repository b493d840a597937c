CREATE INDEX ON documents (owner_id);
CREATE INDEX ON documents (folder_id);
CREATE INDEX ON documents (shelf_id);
CREATE INDEX ON documents (created_at DESC, id DESC);
CREATE INDEX ON documents (id) WHERE public;
CREATE INDEX ON folder_roles (folder_id);
CREATE INDEX ON document_blocks (user_id);

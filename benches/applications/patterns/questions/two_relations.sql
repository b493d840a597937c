-- Two conditions, each a relation of the row.

--- filter
documents.owner_id = :user
AND documents.folder_id = ANY (ARRAY(
  SELECT folder_id FROM folder_roles WHERE user_id = :user AND role = 'viewer'
));

--- include statements.sql

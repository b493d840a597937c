-- One rule, with a condition on the row.

--- filter
documents.status = 'final'
AND documents.folder_id = ANY (ARRAY(
  SELECT folder_id FROM folder_roles WHERE user_id = :user AND role = 'viewer'
));

--- include statements.sql

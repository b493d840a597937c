-- Two rules, one of them with a condition on the row.

--- filter
-- The OR is one of bare columns, so that the index answers it: with the condition inside, each document that
-- it finds would be compared with the array again.
(
  documents.owner_id = :user
  OR documents.folder_id = ANY (ARRAY(
    SELECT folder_id FROM folder_roles WHERE user_id = :user AND role = 'viewer'
  ))
)
AND (documents.owner_id = :user OR documents.status = 'final');

--- include statements.sql

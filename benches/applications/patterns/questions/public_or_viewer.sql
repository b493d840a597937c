-- Public documents, and those of the actor's folders.

--- filter
documents.public
OR documents.folder_id = ANY (ARRAY(
  SELECT folder_id FROM folder_roles WHERE user_id = :user AND role = 'viewer'
));

--- include statements.sql

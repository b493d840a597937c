-- Tasks that the user may edit: closes what is left of a few tenants.

--- ask list edit Task over tasks.id
--- case light user=3
--- case medium user=2
--- case heavy user=1

--- statement update
UPDATE tasks SET state = 'done'
WHERE tenant IN ('tenant-7', 'tenant-14', 'tenant-15') AND state = 'open' AND :filter
RETURNING id;

--- filter
-- As for reading, with the roles that write.
(
  tasks.project_id = ANY (ARRAY(
    SELECT p.id
    FROM memberships AS m JOIN tenants AS t ON t.slug = m.tenant JOIN projects AS p ON p.tenant = m.tenant
    WHERE m.user_id = :user AND NOT t.suspended AND m.role IN ('owner', 'admin')
    UNION ALL
    SELECT p.id
    FROM project_members AS m JOIN projects AS p ON p.id = m.project_id JOIN tenants AS t ON t.slug = p.tenant
    WHERE m.user_id = :user AND NOT t.suspended AND m.role = 'editor'
    UNION ALL
    SELECT p.id FROM projects AS p JOIN tenants AS t ON t.slug = p.tenant
    WHERE p.lead_id = :user AND NOT t.suspended
  ))
  OR tasks.assignee_id = :user
)
AND (
  tasks.assignee_id IS DISTINCT FROM :user
  OR (
    SELECT NOT t.suspended FROM projects AS p JOIN tenants AS t ON t.slug = p.tenant
    WHERE p.id = tasks.project_id
  )
);

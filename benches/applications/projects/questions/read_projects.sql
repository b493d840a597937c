-- Projects that the user may read, by themselves and with how many tasks each has.

--- ask list read Project over projects.id
--- case light user=3
--- case medium user=2
--- case heavy user=1

--- statement list
SELECT id FROM projects WHERE :filter;

--- statement open tasks of each
SELECT projects.id || ': ' || count(t.id)
FROM projects LEFT JOIN tasks AS t ON t.project_id = projects.id AND t.state = 'open'
WHERE projects.tenant = 'tenant-14' AND :filter
GROUP BY projects.id;

--- filter
-- The tenants where the role counts are few; so are the projects that the user leads or is a member of.
(
  projects.tenant = ANY (ARRAY(
    SELECT tenant FROM memberships WHERE user_id = :user AND role IN ('owner', 'admin')
  ))
  OR NOT projects.private AND projects.tenant = ANY (ARRAY(
    SELECT tenant FROM memberships WHERE user_id = :user
  ))
  OR projects.id = ANY (ARRAY(SELECT project_id FROM project_members WHERE user_id = :user))
  OR projects.lead_id = :user
)
AND EXISTS (SELECT FROM tenants AS t WHERE t.slug = projects.tenant AND NOT t.suspended);

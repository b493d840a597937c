-- Tenants that the user may read.

--- ask list read Tenant over tenants.slug
--- case light user=3
--- case heavy user=1

--- statement list
SELECT slug FROM tenants WHERE :filter ORDER BY slug;

--- filter
NOT tenants.suspended AND tenants.slug = ANY (ARRAY(SELECT tenant FROM memberships WHERE user_id = :user));

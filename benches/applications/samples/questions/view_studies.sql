-- Studies that the user may view.

--- ask list view Study over studies.code
--- case light user=20523c9d-a109-2760-54b3-46458c2d9072
--- case medium user=43e8f39a-5352-b631-dc4e-f958955fb07b
--- case heavy user=fd14ec24-3aeb-dd75-c56f-5c9a5047e3fd

--- statement list
SELECT code FROM studies WHERE :filter;

--- statement of a site
SELECT code FROM studies WHERE site = 70 AND :filter;

--- filter
studies.code = ANY (ARRAY(
  SELECT b.study FROM crew_members AS m JOIN bookings AS b ON b.crew_id = m.crew_id
  WHERE m.person_id = ':user'
    AND b.starts_at <= extract(epoch FROM now())::bigint AND b.ends_at > extract(epoch FROM now())::bigint
    AND NOT EXISTS (SELECT FROM conflicts AS c WHERE c.person_id = ':user' AND c.study = b.study)
  UNION
  SELECT p.study FROM permits AS p
  WHERE p.person_id = ':user' AND p.extent = 'full' AND NOT p.withdrawn
    AND p.ends_at > extract(epoch FROM now())::bigint
    AND NOT EXISTS (SELECT FROM conflicts AS c WHERE c.person_id = ':user' AND c.study = p.study)
  UNION
  SELECT study FROM alarms WHERE person_id = ':user' AND ends_at > extract(epoch FROM now())::bigint
))
AND (SELECT present FROM people WHERE id = ':user');

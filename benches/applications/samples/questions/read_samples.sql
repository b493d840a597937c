-- Samples that the user may read.

--- ask list read Sample over samples.id
--- case light user=20523c9d-a109-2760-54b3-46458c2d9072
--- case medium user=43e8f39a-5352-b631-dc4e-f958955fb07b
--- case heavy user=fd14ec24-3aeb-dd75-c56f-5c9a5047e3fd

--- statement page
SELECT id FROM samples WHERE :filter ORDER BY taken_at DESC, id DESC LIMIT 50;

--- statement keyset
SELECT id FROM samples
WHERE (taken_at, id) < (timestamptz '2024-02-15', 200000) AND :filter
ORDER BY taken_at DESC, id DESC LIMIT 50;

--- statement page of a study
SELECT id FROM samples WHERE study = 'ST-270' AND :filter ORDER BY taken_at DESC, id DESC LIMIT 50;

--- statement count
SELECT count(*) FROM samples WHERE :filter;

--- statement tissue of a site
SELECT samples.id
FROM studies AS s JOIN samples ON samples.study = s.code
WHERE s.site = 70 AND samples.kind = 'tissue' AND :filter;

--- filter
-- Each sample is tested in hashed sets. The studies are an array once more, in an OR of bare columns, so that
-- indexes find the samples; an array alone would be searched from its start for each sample of a page.
(
  samples.collector_id = ':user'
  OR samples.study IN (
    SELECT study FROM alarms WHERE person_id = ':user' AND ends_at > extract(epoch FROM now())::bigint
  )
  OR (NOT samples.infectious OR samples.hazard <= (SELECT clearance FROM people WHERE id = ':user'))
    AND samples.study IN (
      SELECT b.study FROM crew_members AS m JOIN bookings AS b ON b.crew_id = m.crew_id
      WHERE m.person_id = ':user'
        AND b.starts_at <= extract(epoch FROM now())::bigint AND b.ends_at > extract(epoch FROM now())::bigint
        AND NOT EXISTS (SELECT FROM conflicts AS c WHERE c.person_id = ':user' AND c.study = b.study)
    )
  OR NOT samples.infectious
    AND samples.study IN (
      SELECT p.study FROM permits AS p
      WHERE p.person_id = ':user' AND p.extent = 'full' AND NOT p.withdrawn
        AND p.ends_at > extract(epoch FROM now())::bigint
        AND NOT EXISTS (SELECT FROM conflicts AS c WHERE c.person_id = ':user' AND c.study = p.study)
    )
)
AND (
  samples.collector_id = ':user'
  OR samples.study = ANY (ARRAY(
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
)
AND (SELECT present FROM people WHERE id = ':user')
AND NOT EXISTS (
  SELECT FROM sample_denials AS d WHERE d.sample_id = samples.id AND d.person_id = ':user'
);

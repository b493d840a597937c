-- Samples that the user may relabel: collected by the user, of a study that is open to the user's crews.

--- ask list relabel Sample over samples.id
--- case light user=20523c9d-a109-2760-54b3-46458c2d9072
--- case medium user=43e8f39a-5352-b631-dc4e-f958955fb07b
--- case heavy user=fd14ec24-3aeb-dd75-c56f-5c9a5047e3fd

--- statement update
UPDATE samples SET kind = 'other' WHERE kind <> 'water' AND :filter RETURNING id;

--- filter
-- The studies that are open to the user are listed once, not looked up for each sample.
samples.collector_id = ':user'
AND samples.study = ANY (ARRAY(
  SELECT b.study
  FROM crew_members AS m JOIN bookings AS b ON b.crew_id = m.crew_id JOIN studies AS s ON s.code = b.study
  WHERE m.person_id = ':user' AND NOT s.sealed
    AND b.starts_at <= extract(epoch FROM now())::bigint AND b.ends_at > extract(epoch FROM now())::bigint
    AND NOT EXISTS (SELECT FROM conflicts AS c WHERE c.person_id = ':user' AND c.study = b.study)
))
AND (SELECT present FROM people WHERE id = ':user')
AND NOT EXISTS (
  SELECT FROM sample_denials AS d WHERE d.sample_id = samples.id AND d.person_id = ':user'
);

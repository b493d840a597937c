-- Samples that the user may relabel: collected by the user, of a study that is open to the user's crews.

--- ask list relabel Sample over samples.id
--- case light user=20523c9d-a109-2760-54b3-46458c2d9072
--- case medium user=43e8f39a-5352-b631-dc4e-f958955fb07b
--- case heavy user=fd14ec24-3aeb-dd75-c56f-5c9a5047e3fd

--- statement update
UPDATE samples SET kind = 'other' WHERE kind <> 'water' AND :filter RETURNING id;

--- filter
-- A collector has few samples, so each looks for its study.
samples.collector_id = ':user'
AND EXISTS (
  SELECT FROM crew_members AS m JOIN bookings AS b ON b.crew_id = m.crew_id
  WHERE m.person_id = ':user' AND b.study = samples.study
    AND b.starts_at <= extract(epoch FROM now())::bigint AND b.ends_at > extract(epoch FROM now())::bigint
)
AND NOT EXISTS (SELECT FROM conflicts AS c WHERE c.person_id = ':user' AND c.study = samples.study)
AND EXISTS (SELECT FROM studies AS s WHERE s.code = samples.study AND NOT s.sealed)
AND (SELECT present FROM people WHERE id = ':user')
AND NOT EXISTS (
  SELECT FROM sample_denials AS d WHERE d.sample_id = samples.id AND d.person_id = ':user'
);

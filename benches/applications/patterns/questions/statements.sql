-- What every pattern is asked. Its own file has the expert's filter.

--- ask list read Document over documents.id
--- case light user=77
--- case medium user=2
--- case heavy user=1

--- statement page
SELECT id FROM documents WHERE :filter ORDER BY created_at DESC, id DESC LIMIT 50;

--- statement keyset
SELECT id FROM documents
WHERE (created_at, id) < (timestamptz '2024-01-15', 100000) AND :filter
ORDER BY created_at DESC, id DESC LIMIT 50;

--- statement count
SELECT count(*) FROM documents WHERE :filter;

--- ask list read Document over documents.id
--- case medium user=2

--- statement update
UPDATE documents SET size = size + 1 WHERE status = 'draft' AND :filter RETURNING id;

--- ask check read Document :document
--- case viewer user=1 document=56
--- case stranger user=77 document=56

--- expert
SELECT EXISTS (SELECT FROM documents WHERE id = :document AND :filter) AS allowed;

--- ask actions Document :document
--- case viewer user=1 document=56

--- expert
SELECT 'read' AS actions WHERE EXISTS (SELECT FROM documents WHERE id = :document AND :filter);

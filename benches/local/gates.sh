#!/bin/sh
# Times a check whose rule reads its own result twice, in the database that psql's environment names.
#
#     PGHOST=/tmp benches/local/gates.sh target/release/portcullis
#
# Ten documents are good at once. Each of the others has a gate: in a chain it leads to the document before it
# and to one of the ten, else to two random documents before it. The check is of the last document.
set -eu

portcullis=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

cat >policy.polar <<'POLAR'
actor User {}
resource Doc { permissions = ["read"]; "read" if good(resource); }
good(doc: Doc) if base(doc);
good(doc: Doc) if gate(doc, left, right) and good(left) and good(right);
POLAR
cat >bindings.yaml <<'YAML'
dialect: postgresql
facts:
  base(Doc:_):
    query: SELECT id FROM base
  gate(Doc:_, Doc:_, Doc:_):
    query: SELECT a, b, c FROM gate
sql_types:
  Doc: integer
YAML
: >facts.txt

for kind in chain random; do
  case $kind in
    chain) ends="n - 1, 1" ;;
    *) ends="1 + floor(random() * (n - 1)), 1 + floor(random() * (n - 1))" ;;
  esac
  for gates in 90 190 390 990 2990; do
    last=$((gates + 10))
    "$portcullis" explain policy.polar "allow(User:ada, \"read\", Doc:$last)" \
      --bindings bindings.yaml --facts facts.txt |
      sed -n '/^== the SQL for postgresql ==$/,/^== /{/^== /!p}' >check.sql
    psql -qAtX -v ON_ERROR_STOP=1 >times 2>errors <<SQL || { echo "$kind $gates: $(cat errors)"; continue; }
DROP TABLE IF EXISTS base, gate;
CREATE TABLE base (id INTEGER PRIMARY KEY);
INSERT INTO base SELECT generate_series(1, 10);
SELECT setseed(0.5);
CREATE TABLE gate (a INTEGER, b INTEGER, c INTEGER);
INSERT INTO gate SELECT n, $ends FROM generate_series(11, $last) AS g (n);
CREATE INDEX ON gate (a);
CREATE INDEX ON gate (b);
CREATE INDEX ON gate (c);
ANALYZE base, gate;
SET statement_timeout = '20s';
\\timing on
\\i check.sql
\\i check.sql
\\i check.sql
SQL
    echo "$kind $gates: $(sed -n 's/^Time: \(.* ms\).*/\1/p' times | sort -n | head -1)"
  done
done

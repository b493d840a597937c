#!/bin/sh
# Times a rule that reads its own result twice against the SQL that an expert writes by hand, in the database that
# psql's environment names, and prints a table.
#
#     PGHOST=/tmp benches/local/gates.sh target/release/portcullis [GATES…]
#
# Ten documents are good at once. Each of the others has a gate: in a chain it leads to the document before it
# and to one of the ten, else to two random documents before it. The check is of the last document; the list
# counts the documents with a gate that are good. Each time is the best of three.
set -eu

portcullis=$(realpath "$1")
shift
[ $# -gt 0 ] || set -- 90 190 390 990
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

# question, then what else `portcullis compile` takes
compile() {
  question=$1
  shift
  "$portcullis" compile policy.polar "$question" --bindings bindings.yaml --facts facts.txt "$@"
}

expert='WITH RECURSIVE st (s) AS (
  SELECT ARRAY(SELECT id FROM base ORDER BY 1)
  UNION
  SELECT ARRAY(
    SELECT x FROM unnest(st.s) x
    UNION
    SELECT g.a FROM gate g WHERE g.b IN (SELECT unnest(st.s)) AND g.c IN (SELECT unnest(st.s))
    ORDER BY 1)
  FROM st)
SELECT s FROM st ORDER BY cardinality(s) DESC LIMIT 1'

# the file with a statement, in the tables that psql has made
best() {
  printf '%s\n' "SET statement_timeout = '20s';" '\timing on' "\\i $1" "\\i $1" "\\i $1" >timed.sql
  if psql -qAtX -v ON_ERROR_STOP=1 -f timed.sql >times 2>errors; then
    sed -n 's/^Time: \([0-9.]*\) ms.*/\1/p' times | sort -n | head -1
  else
    grep -q 'statement timeout' errors && echo 'over 20,000' || cat errors
  fi
}

echo '| gates | check | by hand | list | by hand |'
echo '| --- | --- | --- | --- | --- |'
for kind in chain random; do
  case $kind in
    chain) ends="n - 1, 1" ;;
    *) ends="1 + floor(random() * (n - 1)), 1 + floor(random() * (n - 1))" ;;
  esac
  for gates in "$@"; do
    last=$((gates + 10))
    compile "allow(User:ada, \"read\", Doc:$last)" >check.sql
    printf 'SELECT count(*) FROM gate WHERE %s;\n' \
      "$(compile 'allow(User:ada, "read", Doc:?)' --filter gate.a)" >list.sql
    echo "SELECT $last = ANY(($expert)::integer[]);" >check-by-hand.sql
    echo "SELECT count(*) FROM gate WHERE a = ANY(($expert)::integer[]);" >list-by-hand.sql
    psql -qAtX -v ON_ERROR_STOP=1 >made <<SQL
SET client_min_messages = warning;
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
SQL
    echo "| $gates, $kind | $(best check.sql) | $(best check-by-hand.sql) | $(best list.sql) | $(best list-by-hand.sql) |"
  done
done

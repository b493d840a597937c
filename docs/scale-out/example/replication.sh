# The image runs this once, when it has made the primary's database: replicas may log in as the store's role.
echo "host replication portcullis all scram-sha-256" >>"$PGDATA/pg_hba.conf"

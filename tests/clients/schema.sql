-- The application's tables. Ada belongs to acme, which has the repositories 1 and 2; 3 belongs to no organization, and 4 is public.
CREATE TYPE organization_role AS ENUM ('member', 'owner');
CREATE TABLE organizations (id uuid PRIMARY KEY, name text NOT NULL);
CREATE TABLE memberships (
  user_id text NOT NULL,
  organization_id uuid NOT NULL REFERENCES organizations,
  role organization_role NOT NULL,
  PRIMARY KEY (user_id, organization_id, role)
);
CREATE TABLE repositories (
  id bigint PRIMARY KEY,
  name text NOT NULL,
  organization_id uuid REFERENCES organizations,
  is_public boolean NOT NULL DEFAULT false,
  is_archived boolean NOT NULL DEFAULT false,
  stars integer NOT NULL DEFAULT 0
);

INSERT INTO organizations VALUES
  ('a0000000-0000-4000-8000-000000000001', 'acme'),
  ('b0000000-0000-4000-8000-000000000002', 'globex');
INSERT INTO memberships VALUES
  ('ada', 'a0000000-0000-4000-8000-000000000001', 'member'),
  ('eve', 'b0000000-0000-4000-8000-000000000002', 'owner');
INSERT INTO repositories VALUES
  (1, 'site', 'a0000000-0000-4000-8000-000000000001', false, false, 250),
  (2, 'tools', 'a0000000-0000-4000-8000-000000000001', false, true, 7),
  (3, 'vault', NULL, false, false, 0),
  (4, 'docs', 'b0000000-0000-4000-8000-000000000002', true, false, 101);

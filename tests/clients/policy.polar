# A code host. Organizations and repositories are rows of the application's database, roles on single repositories are
# stored in the service.

actor User {}

global {
  roles = ["auditor"];
  permissions = ["audit"];

  "audit" if "auditor";
}

resource Organization {
  roles = ["member", "owner"];
  permissions = ["invite"];

  "member" if "owner";
  "invite" if "owner";
}

resource Repository {
  roles = ["maintainer", "reader"];
  permissions = ["read", "write"];
  relations = { organization: Organization };

  "reader" if "maintainer";
  "reader" if "member" on "organization";

  "read" if "reader";
  "read" if is_public(resource);
  "write" if "maintainer";
}

# Every user may visit every organization, and an operator may restart every repository.
has_permission(_: User, "visit", _: Organization);
has_permission(user: User, "restart", _: Repository) if is_operator(user);

# Whom an operator trusts may be anything at all.
trusts(user: User, _anybody) if is_operator(user);

# Facts with an Integer and with a Boolean.
popular(repository: Repository) if has_stars(repository, stars) and stars > 100;
dormant(repository: Repository) if is_archived(repository, true);

actor User {}

resource Organization {
  roles = ["reader", "maintainer"];
  "reader" if "maintainer";
}

resource Repository {
  permissions = ["read", "write", "open_issue"];
  relations = { organization: Organization };

  "read" if ("reader" on "organization" or is_public(resource)) and not is_banned(actor, resource);
  "open_issue" if "read";
  "write" if "maintainer" on "organization";
}

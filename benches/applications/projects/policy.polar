# Tenants with projects and tasks. Nothing of a suspended tenant can be used.

allow(user: User, action: String, tenant: Tenant) if
  has_permission(user, action, tenant) and not is_suspended(tenant);

allow(user: User, action: String, project: Project) if
  has_permission(user, action, project) and
  has_relation(project, "tenant", tenant) and
  not is_suspended(tenant);

allow(user: User, action: String, task: Task) if
  has_permission(user, action, task) and
  has_relation(task, "project", project) and
  has_relation(project, "tenant", tenant) and
  not is_suspended(tenant);

actor User {}

resource Tenant {
  roles = ["owner", "admin", "member"];
  permissions = ["read", "manage"];

  "admin" if "owner";
  "member" if "admin";

  "read" if "member";
  "manage" if "admin";
}

resource Project {
  roles = ["editor", "viewer"];
  permissions = ["read", "write"];
  relations = { tenant: Tenant, lead: User };

  "viewer" if "editor";
  "editor" if "lead";
  "editor" if "admin" on "tenant";
  "viewer" if "member" on "tenant" and not is_private(resource);

  "read" if "viewer";
  "write" if "editor";
}

resource Task {
  permissions = ["read", "edit", "delete"];
  relations = { project: Project, creator: User, assignee: User };

  "read" if "read" on "project";
  "read" if "assignee";
  "edit" if "write" on "project";
  "edit" if "assignee";
  "delete" if "write" on "project";
  "delete" if "creator";
}

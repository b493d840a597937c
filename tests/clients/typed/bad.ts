// Uses that the policy does not allow. Each line ends with the code of the error that the compiler must
// report, and words from its message.
import { Oso } from "oso-cloud";
import { type Action, type Role, typed, value } from "./policy";

const oso = typed(new Oso("http://127.0.0.1:8081", "key"));
const user = value("User", "alice");
const repo = value("Repository", "docs");
const org = value("Organization", "acme");

oso.authorize(user, "raed", repo); // TS2345 "raed"
oso.authorize(user, "invite", repo); // TS2345 "Organization"
oso.authorize(repo, "read", user); // TS2345 "User"
oso.authorize(user, "read", { type: "Repo", id: "docs" }); // TS2345 "Repo"
oso.list(user, "read", "Repositories"); // TS2345 "Repositories"
oso.list(user, "read", "Organization"); // TS2345 "Repository"
oso.actions(repo, repo); // TS2345 "User"
oso.insert(["has_role", user, "maintainer", org]); // TS2345 "Organization"
oso.insert(["has_role", user, "raeder", repo]); // TS2345 Did you mean '"reader"'
oso.insert(["has_role", user, "auditor", repo]); // TS2345 "auditor"
oso.insert(["has_rloe", user, "reader", repo]); // TS2820 Did you mean '"has_role"'
oso.insert(["has_relation", repo, "organization", user]); // TS2322 "User"
oso.insert(["has_stars", repo, "many"]); // TS2345 "Integer"
oso.insert(["is_archived", repo, 1]); // TS2345 "Boolean"
oso.insert(["is_public"]); // TS2345 requires 2
oso.delete(["has_role", user, "maintainer", org]); // TS2345 "Organization"
oso.get(["has_role", user, "mainteiner", repo]); // TS2345 Did you mean '"maintainer"'
oso.authorize(user, "read", repo, [["has_role", user, "owner", repo]]); // TS2345 "owner"
oso.buildQuery(["allow", user, "raed", repo]); // TS2345 "raed"
oso.buildQuery(["allow", user, "read"]); // TS2345 "audit"
value("Usr", "alice"); // TS2345 "Usr"
export const action: Action<"Organization"> = "read"; // TS2322 "read"
export const role: Role<"Repository"> = "owner"; // TS2322 "owner"

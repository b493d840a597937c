// A correct application: it compiles, and runs against a real service.
import { Oso, typedVar } from "oso-cloud";
import * as policy from "./policy";
import { type Action, type TypedOso, typed, value } from "./policy";

declare const process: { env: { OSO_URL: string; OSO_AUTH: string } };

function equal(found: unknown, expected: unknown) {
  if (JSON.stringify(found) !== JSON.stringify(expected)) {
    throw new Error(`${JSON.stringify(found)} is not ${JSON.stringify(expected)}`);
  }
}

const alice = value("User", "alice");
const acme = value("Organization", "acme");
const docs = value("Repository", "docs");

async function main() {
  const oso: TypedOso = typed(new Oso(process.env.OSO_URL, process.env.OSO_AUTH));
  // The client also takes the types itself.
  const same: TypedOso = new Oso<policy.PolarTypes>(process.env.OSO_URL, process.env.OSO_AUTH);

  await oso.insert(["has_role", alice, "member", acme]);
  await oso.batch((tx) => {
    tx.insert(["has_relation", docs, "organization", acme]);
    tx.insert(["has_stars", docs, 120]);
    tx.insert(["is_archived", docs, true]);
    tx.insert(["has_role", alice, "auditor"]);
    tx.insert(["is_public", value("Repository", "site")]);
    tx.delete(["is_public", value("Repository", "site")]);
  });
  const action: Action<"Repository"> = "read";
  equal(await oso.authorize(alice, action, docs), true);
  equal(await oso.authorize(alice, "write", docs), false);
  equal(await oso.authorize(alice, "write", docs, [["has_role", alice, "maintainer", docs]]), true);
  const context: policy.FactArgument[] = [["has_role", alice, "maintainer", docs], ["has_stars", docs, 120]];
  equal(await oso.authorize(alice, "write", docs, context), true);
  equal(await same.authorize({ type: "User", id: "alice" }, "visit", acme), true);
  equal(await oso.list(alice, "read", "Repository"), ["docs"]);
  equal((await oso.listPaginated(alice, "read", "Repository", 10000)).results, ["docs"]);
  const actions: Action<"Repository">[] = await oso.actions(alice, docs);
  equal(actions, ["read"]);
  equal(await oso.get(["has_role", alice, null, acme]), [
    ["has_role", alice, { type: "String", id: "member" }, acme],
  ]);
  equal((await oso.get(["has_stars", docs, null])).length, 1);
  equal(await oso.buildQuery(["allow", alice, "audit"]).evaluate(), true);
  const repository = typedVar("Repository");
  const query = oso.buildQuery(["allow", alice, "read", repository]).and(["popular", repository]);
  equal(await query.evaluate(repository), ["docs"]);
  await oso.delete(["has_role", alice, null, { type: "Organization" }]);
  equal(await oso.authorize(alice, "read", docs), false);
}

main().then(
  () => console.log("done"),
  (error) => {
    console.error(error);
    (process as unknown as { exit(code: number): void }).exit(1);
  },
);

// Names that could end a literal, or that have a meaning in the language, work like any other name.
import { Oso } from "oso-cloud";
import { type Action, type Relations, type Role, typed, value } from "./hostile";

const oso = typed(new Oso("http://127.0.0.1:8081", "key"));
const thing = value("constructor", "1");

export const roles: Role[] = ["it's \"quoted\"", "back\\slash", "new\nline", "${process.exit(1)}", "*/", "Prüfer", "😀"];
export const action: Action<"constructor"> = '"""';
export const self: Relations["constructor"]["self"] = "constructor";
export const facts = () => [
  oso.insert(["has_role", value("class", "a"), "new\nline", thing]),
  oso.insert(["has_role", value("None", "a"), "*/", thing]),
  oso.insert(["has_relation", thing, "Actor", value("None", "a")]),
  oso.insert(["has_relation", thing, "Resource", value("Value", "a")]),
  oso.insert(["__proto__", value("class", "a"), "any text", 7, false, value("None", "a")]),
  oso.authorize(value("class", "a"), "any action", value("Value", "a")),
];

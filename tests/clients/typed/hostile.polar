# Names that have a meaning in other languages, or that could end a literal.

actor class {}

actor None {}

resource constructor {
  roles = [
    "it's \"quoted\"",
    "back\\slash",
    "new\nline",
    "${process.exit(1)}",
    "*/",
    "Prüfer",
    "😀",
    "None",
  ];
  permissions = ["import", "def", "\"\"\""];
  relations = { Actor: Actor, self: constructor, Resource: Resource };

  "import" if "None";
}

resource Value {
  permissions = ["typed"];

  "typed" if is_any(resource, _);
}

has_permission(_: None, action: String, value: Value) if opens(value, action);

declare __proto__(class, String, Integer, Boolean, None);

// The client `oso-cloud` 2.6.0, every public method of it.

"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");

require("./v2/facts");
require("./v2/checks");
require("./v2/queries");
require("./v2/local");
require("./v2/policy");
require("./v2/failures");

const { recorder } = require("./v2/client");

test("no public method of the client is left out", () => assert.deepEqual(recorder.missing(), []));

// The client `oso-cloud` 1.6.1, every public method of it.

"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");

require("./v1/facts");
require("./v1/questions");
require("./v1/local");
require("./v1/failures");

const { recorder } = require("./v1/client");

test("no public method of the client is left out", () => assert.deepEqual(recorder.missing(), []));

// Clients of version 1 whose calls are recorded.

"use strict";

const { Oso } = require("oso-cloud-1");
const { Recorder } = require("../recorder");
const { URL, KEY, BINDINGS, POLICY } = require("../world");

const recorder = new Recorder();
recorder.includes(Oso);
recorder.patch(new Oso(URL, KEY).api.constructor);

/** A client of the server that all tests share. */
function client(options = {}, { url = URL, key = KEY } = {}) {
  return recorder.watch(new Oso(url, key, { dataBindings: BINDINGS, ...options }));
}

/** A client of a server that holds the shared policy and these facts only. */
async function fresh(facts = []) {
  const oso = client();
  await oso.api.clearData();
  await oso.policy(POLICY);
  await oso.bulkTell(facts);
  return oso;
}

module.exports = { recorder, client, fresh };

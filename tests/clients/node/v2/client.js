// Clients of version 2 whose calls are recorded.

"use strict";

const exported = require("oso-cloud-2");
const { Recorder } = require("../recorder");
const { URL, KEY, BINDINGS, POLICY } = require("../world");

const { Oso, ParityHandle } = exported;
const recorder = new Recorder();
{
  const plain = new Oso(URL, KEY);
  const classes = Object.values(exported).filter((each) => typeof each === "function" && each !== exported.typedVar);
  recorder.includes(...classes, plain.buildQuery(["p"]).constructor);
  recorder.patch(plain.api.constructor);
}

/** A client of the server that all tests share. */
function client(options = {}, { url = URL, key = KEY } = {}) {
  return recorder.watch(new Oso(url, key, { dataBindings: BINDINGS, ...options }));
}

/** A client of a server that holds the shared policy and these facts only. */
async function fresh(facts = []) {
  const oso = client();
  await oso.api.clearData();
  await oso.policy(POLICY);
  await oso.batch((tx) => facts.forEach((fact) => tx.insert(fact)));
  return oso;
}

const parityHandle = () => recorder.watch(new ParityHandle());

module.exports = { recorder, client, fresh, parityHandle, typedVar: exported.typedVar };

// The suite that is inside the package, as it is, run by jest. It knows one address of a server, which stands here for the
// server that the harness has started.
"use strict";

const SUITE_URL = "http://localhost:8081";

jest.mock("oso-cloud-1/dist/src/index.js", () => {
  const client = jest.requireActual("oso-cloud-1/dist/src/index.js");
  const started = (url) => (url === SUITE_URL ? process.env.OSO_URL : url);
  class Oso extends client.Oso {
    constructor(url, key, options = {}) {
      super(started(url), key, { ...options, fallbackUrl: started(options.fallbackUrl) });
    }
  }
  return { ...client, Oso };
});

require("oso-cloud-1/dist/src/index.test.js");

// Bundles src into dist, or into the folder that is given: each file compressed, as the service sends it.
import { build } from "esbuild";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "dist");

const { outputFiles } = await build({
  entryPoints: { studio: join(here, "src/main.jsx"), layout: join(here, "src/layout.js") },
  absWorkingDir: here,
  bundle: true,
  minify: true,
  format: "esm",
  target: ["es2022"],
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  charset: "utf8",
  write: false,
  outdir: out,
});
const files = outputFiles.map(({ path, contents }) => [path.split(/[\\/]/).pop(), contents]);
for (const name of ["index.html", "icon.svg"]) files.push([name, readFileSync(join(here, "src", name))]);

mkdirSync(out, { recursive: true });
let total = 0;
for (const [name, contents] of files) {
  const packed = gzipSync(contents, { level: 9 });
  total += packed.length;
  writeFileSync(join(out, `${name}.gz`), packed);
}
console.log(`${files.length} files, ${total} bytes compressed`);

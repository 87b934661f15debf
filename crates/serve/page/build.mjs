// Builds ../dist/, which the program embeds: one script, one style sheet, one page. `--check` compares with what is there instead, and says what differs.
import { build } from "esbuild";
import { mkdir, readFile, writeFile } from "node:fs/promises";

const check = process.argv.includes("--check");
const LIMIT = 300_000;

const result = await build({
  entryPoints: { page: "src/main.ts" },
  bundle: true,
  minify: true,
  format: "iife",
  target: ["chrome115", "firefox115", "safari17"],
  legalComments: "none",
  metafile: true,
  charset: "utf8",
  write: false,
  outdir: "../dist",
  logLevel: "warning",
});
// The packages that are in it, with their licences: each text once.
const packages = new Set(Object.keys(result.metafile.inputs).map((file) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1]).filter(Boolean));
const licences = new Map();
for (const name of [...packages].sort()) {
  const text = (await readFile(`node_modules/${name}/LICENSE`, "utf8")).trim();
  licences.set(text, [...(licences.get(text) ?? []), name]);
}
const notices = [...licences].map(([text, names]) => `${names.join(", ")}:\n${text}`).join("\n\n");

const files = new Map(result.outputFiles.map((file) => [file.path.split("/").pop(), Buffer.from(file.contents)]));
files.set("page.js", Buffer.concat([files.get("page.js"), Buffer.from(`/*\n${notices.replaceAll("*/", "* /")}\n*/\n`)]));
for (const name of ["index.html", "icon.svg"]) files.set(name, await readFile(`src/${name}`));

let total = 0;
let differs = false;
await mkdir("../dist", { recursive: true });
for (const [name, bytes] of files) {
  total += bytes.length;
  if (check) {
    const there = await readFile(`../dist/${name}`).catch(() => Buffer.alloc(0));
    if (!there.equals(bytes)) {
      console.error(`dist/${name} is not what src/ makes: run \`npm run build\` and commit it`);
      differs = true;
    }
  } else {
    await writeFile(`../dist/${name}`, bytes);
  }
  console.log(`${name.padEnd(12)} ${String(bytes.length).padStart(8)} bytes`);
}
console.log(`${"in all".padEnd(12)} ${String(total).padStart(8)} bytes, of at most ${LIMIT}`);
if (total >= LIMIT) {
  console.error("the bundle is too large");
  differs = true;
}
process.exit(differs ? 1 : 0);

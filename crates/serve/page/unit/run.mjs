// Runs the unit tests with node's own runner.
import { spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { build } from "esbuild";

const out = "test-results/unit";
rmSync(out, { recursive: true, force: true });
const tests = readdirSync("unit").filter((name) => name.endsWith(".test.ts"));
await build({ entryPoints: tests.map((name) => `unit/${name}`), bundle: true, platform: "node", format: "esm", packages: "external", outdir: out, outExtension: { ".js": ".mjs" }, logLevel: "warning" });
const { status } = spawnSync(process.execPath, ["--test", "--test-reporter=spec", ...tests.map((name) => `${out}/${name.replace(/ts$/, "mjs")}`)], { stdio: "inherit" });
process.exit(status ?? 1);

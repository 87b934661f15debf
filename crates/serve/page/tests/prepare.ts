// Makes the folder that the tests serve, by the command.

import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { command, DEADLOCK, FOLDER, RUN } from "./command.ts";

const SMALL = `title = "Latency against load, 8x8 mesh"
topology = "mesh:8x8"
algorithm = "dual-path"
seed = 1

[traffic]
arrivals = { process = "poisson", rate = 0.03 }
length = { uniform = [10, 40] }
multicast = { destinations = 5 }

[timing]
startup = 100

[run]
warmup = 2000
messages = 400

[stop]
relative_half_width = 0.2
min_replications = 3
max_replications = 4

[sweep]
algorithm = ["pure-negative-first", "dual-path"]
"traffic.arrivals.rate" = [0.01, 0.05, 0.1, 0.3, 0.6, 1.2]

[plot]
x = "traffic.arrivals.rate"
`;

export default function prepare(): void {
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  for (const file of ["fabric.net", "fabric.lfts"]) copyFileSync(`../../../examples/${file}`, `${FOLDER}/${file}`);
  if (process.env.WORMCAST_DRAW) return tour();
  writeFileSync(`${FOLDER}/small.toml`, SMALL);
  writeFileSync(`${FOLDER}/slow.toml`, SMALL.replace("messages = 400", "messages = 12000"));
  writeFileSync(`${FOLDER}/ring.txt`, Array.from({ length: 6 }, (_, i) => `${i} ${(i + 1) % 6}\n`).join(""));
  const vertices = [0, 1, 2].map((id) => ({ id, label: String(id + 1) }));
  writeFileSync(`${FOLDER}/names.json`, JSON.stringify({ nodes: vertices, edges: [0, 1].map((source) => ({ source, target: source + 1 })) }));
  command("sweep", "small.toml");
  command("simulate", ...RUN, "--replay", "run.replay");
  command("simulate", ...DEADLOCK, "--replay", "dead.replay", "--waits", "dead.json");
}

/** What the guide tells of, by its own file and commands. */
function tour(): void {
  const guide = readFileSync("../../../docs/guide/browser.md", "utf8");
  writeFileSync(`${FOLDER}/tour.toml`, (/```toml\n(.*?)```/s.exec(guide) as RegExpExecArray)[1]);
  command("sweep", "tour.toml");
  const [, options] = /^wormcast (simulate tour\.toml .* --replay dead\.replay)$/m.exec(guide) as RegExpExecArray;
  command(...options.split(" "));
}

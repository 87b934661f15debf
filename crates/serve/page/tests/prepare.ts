// Makes the folder that the tests serve, by the command.

import { copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
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
  writeFileSync(`${FOLDER}/small.toml`, SMALL);
  writeFileSync(`${FOLDER}/slow.toml`, SMALL.replace("messages = 400", "messages = 12000"));
  writeFileSync(`${FOLDER}/ring.txt`, Array.from({ length: 6 }, (_, i) => `${i} ${(i + 1) % 6}\n`).join(""));
  for (const file of ["fabric.net", "fabric.lfts"]) copyFileSync(`../../../examples/${file}`, `${FOLDER}/${file}`);
  if (process.env.WORMCAST_DRAW) {
    // What the guide tells of.
    const guide = SMALL.replace('"Latency against load, 8x8 mesh"', '"Latency against load, 8x8 mesh, half of the messages multicasts"').replace("destinations = 5 }", "destinations = 5, fraction = 0.5 }");
    writeFileSync(`${FOLDER}/guide.toml`, guide.replace("messages = 400", "messages = 4000").replace("[0.01, 0.05, 0.1, 0.3, 0.6, 1.2]", "[0.02, 0.08, 0.14, 0.2, 0.26, 0.32, 0.38]"));
    command("sweep", "guide.toml");
    command("simulate", "guide.toml", "--set", "algorithm=dual-path", "--set", "traffic.arrivals.rate=0.2", "--replay", "load.replay");
  }
  command("sweep", "small.toml");
  command("simulate", ...RUN, "--replay", "run.replay");
  command("simulate", ...DEADLOCK, "--replay", "dead.replay", "--waits", "dead.json");
}

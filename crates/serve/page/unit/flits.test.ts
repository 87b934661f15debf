import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { ChannelSpace, Network } from "../src/network.ts";
import { decode } from "../src/replay/chunk.ts";
import { Flits, flitsOf } from "../src/replay/flits.ts";
import { encode } from "./encode.ts";
import type { WrittenWorm } from "./encode.ts";
import { draws, mesh } from "./mesh.ts";

/** The times of all flits by the recurrence (1) of docs/worm-engine.md, flit by flit. */
function bySteps(grants: number[], buffer: number, count: number): number[][] {
  const times: number[][] = grants.map(() => []);
  for (let j = 1; j <= count; j++) {
    for (let v = 0; v < grants.length; v++) {
      if (j === 1) {
        times[v][1] = grants[v];
        continue;
      }
      let time = times[v][j - 1] + 1;
      if (v > 0) time = Math.max(time, times[v - 1][j] + 1);
      if (v + 1 < grants.length && j - buffer >= 1) time = Math.max(time, times[v + 1][j - buffer]);
      times[v][j] = time;
    }
  }
  return times;
}

function randomGrants(random: (bound: number) => number): number[] {
  const grants = [random(20)];
  for (let length = 1 + random(9); length > 0; length--) grants.push(grants[grants.length - 1] + 1 + random(3) * random(12));
  return grants;
}

function compare(buffer: number, says: number, rounds: number): number {
  const random = draws(buffer);
  let differs = 0;
  for (let round = 0; round < rounds; round++) {
    const grants = randomGrants(random);
    const count = 1 + random(20);
    const times = bySteps(grants, buffer, count);
    const flits = new Flits(Int32Array.from(grants, (_, i) => i), Float64Array.from(grants), says, count);
    for (let i = 0; i < grants.length; i++) {
      for (let j = 1; j <= count; j++) if (flits.crosses(i, j) !== times[i][j]) differs++;
      for (let t = grants[0] - 1; t < grants[grants.length - 1] + 3 * count; t++) {
        const crossed = times[i].filter((time) => time <= t).length;
        if (flits.crossed(i, t) !== crossed) differs++;
      }
    }
  }
  return differs;
}

test("the closed form is the recurrence, for every flit and cycle", () => {
  for (const buffer of [1, 2, 3, 7]) assert.equal(compare(buffer, buffer, 300), 0);
});

test("with a buffer of another size it is not", () => {
  assert.ok(compare(1, 2, 100) > 0);
  assert.ok(compare(3, 2, 100) > 0);
});

test("a header that waits when the run ends holds its flits back", () => {
  const random = draws(11);
  for (let round = 0; round < 500; round++) {
    const buffer = 1 + random(4);
    const grants = randomGrants(random);
    const count = 1 + random(20);
    const end = grants[grants.length - 1] + random(30);
    // What comes later is granted after the end: whatever has happened by then is the same.
    const later = [...grants, end + 1 + random(50)];
    const times = bySteps(later, buffer, count);
    const flits = new Flits(Int32Array.from(grants, (_, i) => i), Float64Array.from(grants), buffer, count).open();
    for (let i = 0; i < grants.length; i++) {
      for (let t = 0; t <= end; t++) assert.equal(flits.crossed(i, t), times[i].filter((time) => time <= t).length);
      const inside = times[i].filter((time) => time <= end).length - times[i + 1].filter((time) => time <= end).length;
      assert.equal(flits.held(i, end), inside);
    }
  }
});

interface Recorded {
  buffer: number;
  header: string;
  consumption: number;
  deadlock: boolean;
  worms: { worm: number; length: number; hops: [channel: number, granted: number, released: number | null, flits: number[]][] }[];
}

const network = new Network(mesh(4, 4));

/** A run of the flit engine (`dual-path` on mesh:4x4) as a chunk. */
function asChunk(run: Recorded): { chunk: ReturnType<typeof decode>; space: ChannelSpace; cycles: number } {
  const space = new ChannelSpace(network.links, 16, 4, run.consumption);
  const cycles = 1 + Math.max(...run.worms.flatMap((worm) => worm.hops.flatMap(([, granted, released, flits]) => [granted, released ?? 0, ...flits])));
  const worms = run.worms.map(({ worm, length, hops }): WrittenWorm => {
    let last = -1;
    const written = hops.map(([channel, granted, released, flits], i) => {
      const parent = last;
      if (space.kind(channel) !== "consumption") last = i;
      return { channel, parent, granted, released, flits: flits.length };
    });
    // A worm's channels at a stop are granted at once, in any order: what is consumed comes behind the link that leads there.
    hops.forEach(([channel], i) => {
      if (space.kind(channel) !== "consumption") return;
      const router = space.node(channel);
      written[i].parent = hops.findIndex(([other], j) => j < i && other < space.links && network.data.to[other] === router);
      if (written[i].parent < 0) written[i].parent = 0;
    });
    const done = hops.every(([, , released]) => released !== null);
    return { worm, message: worm, from: space.node(hops[0][0]), source: space.node(hops[0][0]), destinations: 2, length, generated: 0, started: 0, delivered: [], missing: done ? [] : [0], hops: written, waits: [] };
  });
  return { chunk: decode(0, encode(worms, cycles), { network, space, cycles }), space, cycles };
}

const recorded = JSON.parse(readFileSync(new URL("../../unit/flits.json", import.meta.url), "utf8")) as Recorded[];

test("every flit of the flit engine is where the closed form says, in every cycle", () => {
  let [worms, crossings, open] = [0, 0, 0];
  for (const run of recorded.filter((run) => run.header === "none")) {
    const { chunk, space, cycles } = asChunk(run);
    run.worms.forEach(({ hops }, w) => {
      const flits = flitsOf(chunk, w, space, run.buffer);
      assert.ok(flits, `worm ${chunk.worm[w]} has no closed form`);
      worms++;
      if (hops.some(([, , released]) => released === null)) open++;
      flits.path.forEach((hop, i) => {
        const times = hops[hop - chunk.firstHop[w]][3];
        for (let t = 0; t < cycles; t++) {
          assert.equal(flits.crossed(i, t), times.filter((time) => time <= t).length, `worm ${chunk.worm[w]}, channel ${i}, cycle ${t}`);
        }
        crossings += times.length;
      });
    });
  }
  assert.ok(worms > 30 && crossings > 1000 && open > 0, `${worms} worms, ${crossings} crossings, ${open} of them unfinished`);
});

test("with another buffer than the run's, or stripped headers, there is none", () => {
  const [run] = recorded;
  const { chunk, space } = asChunk(run);
  const wrong = run.worms.filter((_, w) => flitsOf(chunk, w, space, run.buffer + 1) === null).length;
  assert.ok(wrong > run.worms.length / 2, `${wrong} of ${run.worms.length}`);
  const stripped = recorded.find(({ header }) => header === "all-destinations") as Recorded;
  const other = asChunk(stripped);
  const done = stripped.worms.map((worm, w) => ({ w, done: worm.hops.every(([, , released]) => released !== null) })).filter((worm) => worm.done);
  assert.ok(done.length > 5 && done.every(({ w }) => flitsOf(other.chunk, w, other.space, stripped.buffer) === null));
});

test("a tree has none", () => {
  const space = new ChannelSpace(network.links, 16, 4, 1);
  const branch = (to: number): number => [...network.outputs.subarray(network.firstOutput[5], network.firstOutput[6])].find((id) => network.data.to[id] === to) as number;
  const hop = (channel: number, parent: number, granted: number): WrittenWorm["hops"][number] => ({ channel, parent, granted, released: granted + 9, flits: 3 });
  const tree: WrittenWorm = {
    worm: 0, message: 0, from: 5, source: 5, destinations: 2, length: 3, generated: 0, started: 0, delivered: [[4, 40], [6, 40]], missing: [], waits: [],
    hops: [hop(space.injectionOf(5, 0), -1, 1), hop(branch(4), 0, 4), hop(branch(6), 0, 4)],
  };
  assert.equal(flitsOf(decode(0, encode([tree], 50), { network, space, cycles: 50 }), 0, space, 1), null);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateRawSync } from "node:zlib";

import type { ReplayHeader } from "../src/api.ts";
import { ChannelSpace, Network } from "../src/network.ts";
import { decode, NEVER } from "../src/replay/chunk.ts";
import { filterOf, matches } from "../src/replay/filter.ts";
import { askedFor, doing, headers, holders, nextEvent, present, waitAt } from "../src/replay/moment.ts";
import { inflate, Replay } from "../src/replay/source.ts";
import { encode } from "./encode.ts";
import type { WrittenWorm } from "./encode.ts";
import { draws, mesh } from "./mesh.ts";

const network = new Network(mesh(3, 3));
const space = new ChannelSpace(network.links, 9, 2, 2);
const CYCLES = 100;
const context = { network, space, cycles: CYCLES };

const link = (from: number, to: number): number => {
  for (let id = 0; id < network.links; id++) if (network.data.from[id] === from && network.data.to[id] === to) return id;
  throw new Error("no such link");
};

/** A multicast from 0 over 1 to 2, and a unicast that waits for its second channel. */
const worms: WrittenWorm[] = [
  {
    worm: 4, message: 3, from: 0, source: 0, destinations: 2, length: 5, generated: 10, started: 11, delivered: [[1, 30], [2, 33]], missing: [],
    hops: [
      { channel: space.injectionOf(0, 1), exit: 2, parent: -1, granted: 12, released: 20, flits: 5 },
      { channel: link(0, 1), parent: 0, granted: 15, released: 23, flits: 5 },
      { channel: space.consumptionOf(1, 0), parent: 1, granted: 18, released: 29, flits: 5 },
      { channel: link(1, 2), parent: 1, granted: 18, released: 26, flits: 5 },
      { channel: space.consumptionOf(2, 1), parent: 3, granted: 22, released: 32, flits: 5 },
    ],
    waits: [],
  },
  {
    worm: 9, message: 2, from: 0, source: 3, destinations: 1, length: 7, generated: 5, started: null, delivered: [], missing: [8],
    hops: [
      { channel: space.injectionOf(0, 0), exit: 1, parent: -1, granted: 13, released: null, flits: 4 },
      { channel: link(0, 3), parent: 0, granted: 25, released: null, flits: 2 },
    ],
    waits: [{ hop: 1, since: 16 }, { hop: null, since: 40, options: [link(3, 4), link(3, 6)] }],
  },
];

test("a chunk comes back as it was written", () => {
  const chunk = decode(0, encode(worms, CYCLES), context);
  assert.equal(chunk.worms, 2);
  assert.deepEqual([...chunk.worm], [4, 9]);
  assert.deepEqual([...chunk.message], [3, 2]);
  assert.deepEqual([...chunk.source], [0, 3]);
  assert.deepEqual([...chunk.generated], [10, 5]);
  assert.deepEqual([...chunk.started], [11, NEVER]);
  assert.deepEqual([...chunk.channel], worms.flatMap((worm) => worm.hops.map((hop) => hop.channel)));
  assert.deepEqual([...chunk.granted], [12, 15, 18, 18, 22, 13, 25]);
  assert.deepEqual([...chunk.released], [20, 23, 29, 26, 32, NEVER, NEVER]);
  assert.deepEqual([...chunk.flits], [5, 5, 5, 5, 5, 4, 2]);
  assert.deepEqual([...chunk.parent], [-1, 0, 1, 1, 3, -1, 5]);
  assert.deepEqual([...chunk.delivered], [30, 33]);
  assert.deepEqual([...chunk.missing], [8]);
  assert.deepEqual([...chunk.since], [16, 40]);
  assert.deepEqual([...chunk.begin], [11, 13]);
  assert.deepEqual([...chunk.end], [33, NEVER]);
});

test("exits are channels: links in the order of ids, then consumption channels", () => {
  const exits = structuredClone(worms);
  const out = network.outputs.subarray(network.firstOutput[1], network.firstOutput[2]);
  exits[0].hops[2].exit = out.length + 1;
  exits[0].hops[3].exit = [...out].indexOf(link(1, 2)) + 1;
  const chunk = decode(0, encode(exits, CYCLES), context);
  assert.deepEqual([...chunk.channel], worms.flatMap((worm) => worm.hops.map((hop) => hop.channel)));
});

test("what is not a chunk is an error, at every length and with anything changed", () => {
  const bytes = encode(worms, CYCLES);
  for (let end = 0; end < bytes.length; end++) assert.throws(() => decode(0, bytes.subarray(0, end), context), /replay/);
  assert.throws(() => decode(0, Uint8Array.from([...bytes, 0]), context), /more in it/);
  const random = draws(1);
  for (let round = 0; round < 5000; round++) {
    const broken = bytes.slice();
    broken[random(bytes.length)] = random(256);
    try {
      decode(0, broken, context);
    } catch (error) {
      assert.match((error as Error).message, /the replay/);
    }
  }
});

test("a moment: who holds, who waits for what, where headers are", () => {
  const chunk = decode(0, encode(worms, CYCLES), context);
  const here = (t: number): number[] => {
    const found: number[] = [];
    present([chunk], t, (_, w) => found.push(chunk.worm[w]));
    return found;
  };
  assert.deepEqual(here(10), []);
  assert.deepEqual(here(11), [4]);
  assert.deepEqual(here(33), [4, 9]);
  assert.deepEqual(here(34), [9]);
  // From its request to the cycle before the grant.
  assert.deepEqual([15, 16, 24, 25, 39, 40, 99].map((t) => waitAt(chunk, 1, t)), [-1, 0, 0, -1, -1, 1, 1]);
  assert.deepEqual(askedFor(chunk, 0), [link(0, 3)]);
  assert.deepEqual(askedFor(chunk, 1), [link(3, 4), link(3, 6)]);
  assert.deepEqual(headers(chunk, 0, 16).map((hop) => chunk.channel[hop]), [link(0, 1)]);
  assert.deepEqual(holders([chunk], link(0, 1), 23).map(({ w }) => w), [0]);
  assert.deepEqual(holders([chunk], link(0, 1), 24), []);
  assert.deepEqual([11, 13, 23, 34].map((t) => doing(chunk, 0, t)), ["starts", "moves", "arrives", "done"]);
  assert.equal(doing(chunk, 1, 50), "waits");
  assert.equal(nextEvent([chunk], [], 13, false), 15);
  assert.equal(nextEvent([chunk], [], 15, true), 13);
  assert.equal(nextEvent([chunk], [], 40, false), null);
});

test("filters: kind, message, node, channel", () => {
  const chunk = decode(0, encode(worms, CYCLES), context);
  const of = (query: Record<string, string>): number[] => [0, 1].filter((w) => matches(filterOf(query, network, space.size), chunk, w)).map((w) => chunk.worm[w]);
  assert.deepEqual(of({}), [4, 9]);
  assert.deepEqual(of({ kind: "multicast" }), [4]);
  assert.deepEqual(of({ kind: "unicast" }), [9]);
  assert.deepEqual(of({ message: "2" }), [9]);
  assert.deepEqual(of({ node: "2" }), [4]);
  assert.deepEqual(of({ node: "8" }), [9]);
  assert.deepEqual(of({ node: "3" }), [9]);
  assert.deepEqual(of({ link: String(link(1, 2)) }), [4]);
  assert.deepEqual(of({ link: String(link(0, 3)), kind: "multicast" }), []);
  // What is not there is no filter.
  assert.deepEqual(of({ node: "99", link: "-1" }), [4, 9]);
});

/** A replay of many chunks, each with one worm in its own hundred cycles. */
function long(chunks: number, room: number): { replay: Replay; asked: number[] } {
  const asked: number[] = [];
  const files = Array.from({ length: chunks }, (_, i) => {
    const worm = structuredClone(worms[0]);
    worm.worm = i;
    worm.generated += 100 * i;
    worm.started = (worm.started as number) + 100 * i;
    worm.delivered = worm.delivered.map(([node, cycle]) => [node, cycle + 100 * i]);
    for (const hop of worm.hops) {
      hop.granted += 100 * i;
      hop.released = (hop.released as number) + 100 * i;
    }
    return encode([worm], 100 * chunks);
  });
  const none = { flits: [], held: [], waited: [], worms: [] };
  const header: ReplayHeader = {
    version: 1, program: "", topology: "mesh:3x3", algorithm: "", title: "", network: network.data, ports: { injection: 2, consumption: 2 }, settings: {}, cycles: 100 * chunks, interrupted: false,
    counts: { messages: chunks, worms: chunks, deliveries: 2 * chunks, hops: 5 * chunks, waits: 0 }, deadlock: null, dead: [], measures: { ...none, multicast: none },
    chunks: files.map((file, i) => ({ first_cycle: 100 * i + 11, last_cycle: 100 * i + 33, worms: 1, offset: 0, bytes: 0, size: file.length })),
  };
  const replay = new Replay(header, async (index) => {
    asked.push(index);
    return deflateRawSync(files[index]);
  }, network, room);
  return { replay, asked };
}

test("chunks are fetched when they are needed, once, and forgotten when there is no room", async () => {
  const { replay, asked } = long(200, 20_000);
  assert.deepEqual(replay.neededAt(1234 - 11), [12]);
  assert.deepEqual(replay.neededAt(1250), []);
  assert.equal(replay.at(1220), null);
  const [chunk] = await replay.load(1220);
  assert.equal(chunk.worm[0], 12);
  assert.equal(replay.at(1220)?.length, 1);
  await Promise.all([replay.load(1221), replay.load(1222)]);
  assert.deepEqual(asked, [12]);
  for (let i = 0; i < 2000; i++) await replay.load(100 * ((i * 37) % 200) + 20);
  assert.ok(replay.memory <= 20_000, `${replay.memory} bytes are kept`);
  assert.ok(replay.kept > 3);
  // What was just used is there, what was used long ago is not.
  const recent = replay.at(100 * ((1999 * 37) % 200) + 20);
  assert.equal(recent?.length, 1);
  assert.equal(replay.at(100 * ((1900 * 37) % 200) + 20), null);
});

test("events of other chunks are not passed over", async () => {
  const { replay } = long(5, 20_000);
  const event = async (t: number, backwards: boolean): Promise<number | null> => nextEvent(await replay.load(t), replay.header.chunks, t, backwards);
  // A worm every hundred cycles: from its start to its last delivery.
  assert.equal(await event(120, false), 121);
  assert.equal(await event(133, false), 211);
  assert.equal(await event(150, false), 211);
  assert.equal(await event(190, true), 133);
  assert.equal(await event(211, true), 133);
  assert.equal(await event(433, false), null);
  assert.equal(await event(11, true), null);
});

test("a scan sees every chunk once, and keeps no more than there is room for", async () => {
  const { replay } = long(200, 20_000);
  const seen: number[] = [];
  let last = 0;
  await replay.scan((chunk) => seen.push(chunk.index), (done) => { last = done; }, new AbortController().signal);
  assert.deepEqual(seen.sort((a, b) => a - b), Array.from({ length: 200 }, (_, i) => i));
  assert.equal(last, 200);
  assert.ok(replay.memory <= 25_000);
  const controller = new AbortController();
  controller.abort();
  await assert.rejects(replay.scan(() => undefined, () => undefined, controller.signal));
});

test("bytes that are more or fewer than announced are an error", async () => {
  const bytes = deflateRawSync(Uint8Array.from([1, 2, 3, 4]));
  assert.deepEqual([...(await inflate(bytes, 4))], [1, 2, 3, 4]);
  await assert.rejects(inflate(bytes, 3), /larger/);
  await assert.rejects(inflate(bytes, 5), /smaller/);
});

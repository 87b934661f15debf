// A chunk of a replay file: whole worms, in columns. docs/replay.md has the format.

import { ChannelSpace } from "../network.ts";
import type { Network } from "../network.ts";

/** No cycle: it had not happened when the run ended. */
export const NEVER = Infinity;

/** The worms of a chunk. What belongs to worm w is at w, or, of lists, between `first…[w]` and `first…[w + 1]`. */
export interface Chunk {
  index: number;
  worms: number;
  worm: Float64Array;
  message: Float64Array;
  from: Uint32Array;
  source: Uint32Array;
  destinations: Uint32Array;
  length: Uint32Array;
  generated: Float64Array;
  /** NEVER if it is not known, or has not started. */
  started: Float64Array;
  dead: Uint8Array;
  firstDelivery: Uint32Array;
  deliveredTo: Uint32Array;
  delivered: Float64Array;
  firstMissing: Uint32Array;
  missing: Uint32Array;
  firstHop: Uint32Array;
  /** Index of the hop behind which this one is, among those of the chunk; -1 at the beginning. */
  parent: Int32Array;
  channel: Uint32Array;
  granted: Float64Array;
  /** The last cycle in which it is held; NEVER if it was held at the end. */
  released: Float64Array;
  flits: Uint32Array;
  firstWait: Uint32Array;
  /** Index of the hop whose grant ended the wait, among those of the chunk; -1 if it waits when the run ends. */
  waitHop: Int32Array;
  since: Float64Array;
  firstOption: Uint32Array;
  /** What was asked for; for waits with a hop and no entry here, the channel of that hop. */
  option: Uint32Array;
  /** The first cycle in which a worm does something, and the last. */
  begin: Float64Array;
  end: Float64Array;
  /** How much memory it takes. */
  memory: number;
}

/** What is needed beside the bytes. */
export interface Context {
  network: Network;
  space: ChannelSpace;
  /** The first cycle that was not simulated. */
  cycles: number;
}

class Reader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  next(): number {
    const bytes = this.#bytes;
    let value = 0;
    let scale = 1;
    for (;;) {
      if (this.#at >= bytes.length) throw new Error("the replay ends in the middle of a chunk");
      const byte = bytes[this.#at++];
      value += (byte & 127) * scale;
      if (byte < 128) break;
      scale *= 128;
      if (scale > 2 ** 56) throw new Error("the replay has a number that is too large");
    }
    if (value > Number.MAX_SAFE_INTEGER) throw new Error("the replay has a number that is too large");
    return value;
  }

  signed(): number {
    const value = this.next();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  column(count: number): Float64Array {
    const values = new Float64Array(count);
    for (let i = 0; i < count; i++) values[i] = this.next();
    return values;
  }

  /** Lists of these lengths, one after the other: where each begins. */
  lengths(count: number): Uint32Array {
    const first = new Uint32Array(count + 1);
    for (let i = 0; i < count; i++) {
      const length = this.next();
      // Every entry takes a byte at least.
      if (length > this.#bytes.length) throw new Error("the replay has a list that is longer than its chunk");
      first[i + 1] = first[i] + length;
    }
    return first;
  }

  ended(): boolean {
    return this.#at === this.#bytes.length;
  }
}

/** Reads an inflated chunk. Throws an error if it is not one. */
export function decode(index: number, bytes: Uint8Array, { network, space, cycles }: Context): Chunk {
  const reader = new Reader(bytes);
  const worms = reader.next();
  if (worms > bytes.length) throw new Error("the replay has a list that is longer than its chunk");
  const worm = new Float64Array(worms);
  for (let w = 0; w < worms; w++) worm[w] = reader.next() + (w > 0 ? worm[w - 1] : 0);
  const message = new Float64Array(worms);
  for (let w = 0; w < worms; w++) message[w] = reader.signed() + (w > 0 ? message[w - 1] : 0);
  const from = Uint32Array.from(reader.column(worms));
  const source = new Uint32Array(worms);
  for (let w = 0; w < worms; w++) source[w] = from[w] + reader.signed();
  const destinations = Uint32Array.from(reader.column(worms));
  const length = Uint32Array.from(reader.column(worms));
  const generated = new Float64Array(worms);
  for (let w = 0; w < worms; w++) generated[w] = reader.signed() + (w > 0 ? generated[w - 1] : 0);
  const started = new Float64Array(worms);
  for (let w = 0; w < worms; w++) {
    const value = reader.next();
    started[w] = value === 0 ? NEVER : generated[w] + zigzag(value - 1);
  }
  const dead = Uint8Array.from(reader.column(worms));

  const firstDelivery = reader.lengths(worms);
  const deliveredTo = Uint32Array.from(reader.column(firstDelivery[worms]));
  const delivered = reader.column(firstDelivery[worms]);
  for (let w = 0; w < worms; w++) for (let d = firstDelivery[w]; d < firstDelivery[w + 1]; d++) delivered[d] += generated[w];
  const firstMissing = reader.lengths(worms);
  const missing = Uint32Array.from(reader.column(firstMissing[worms]));

  const firstHop = reader.lengths(worms);
  const hops = firstHop[worms];
  const parent = new Int32Array(hops);
  for (let hop = 0; hop < hops; hop++) {
    const back = reader.next();
    parent[hop] = back === 0 ? -1 : hop - back;
    if (parent[hop] < -1) throw new Error("the replay has a hop behind none");
  }
  for (let w = 0; w < worms; w++) {
    if (from[w] >= space.nodes) throw new Error("the replay has a node that the network has not");
    for (let hop = firstHop[w]; hop < firstHop[w + 1]; hop++) if (parent[hop] >= 0 && parent[hop] < firstHop[w]) throw new Error("the replay has a hop behind one of another worm");
  }
  const exit = Uint32Array.from(reader.column(hops));
  const channel = new Uint32Array(hops);
  for (let hop = 0; hop < hops; hop++) if (exit[hop] === 0) channel[hop] = reader.next();
  for (let w = 0; w < worms; w++) {
    for (let hop = firstHop[w]; hop < firstHop[w + 1]; hop++) {
      if (exit[hop] > 0) {
        channel[hop] =
          parent[hop] < 0 ? space.injectionOf(from[w], exit[hop] - 1) : leaving(network, space, endOf(network, space, channel[parent[hop]]), exit[hop] - 1);
      }
      if (channel[hop] >= space.size) throw new Error("the replay has a channel that the network has not");
    }
  }

  const granted = new Float64Array(hops);
  for (let w = 0; w < worms; w++) {
    for (let hop = firstHop[w]; hop < firstHop[w + 1]; hop++) {
      const base = parent[hop] >= 0 ? granted[parent[hop]] : started[w] !== NEVER ? started[w] : generated[w];
      granted[hop] = base + reader.signed();
    }
  }
  const released = new Float64Array(hops);
  for (let hop = 0; hop < hops; hop++) {
    const value = reader.next();
    if (value === 0) {
      released[hop] = NEVER;
      continue;
    }
    const before = parent[hop] >= 0 && released[parent[hop]] !== NEVER ? released[parent[hop]] : granted[hop];
    released[hop] = before + zigzag(value - 1);
  }
  const flits = new Uint32Array(hops);
  for (let w = 0; w < worms; w++) {
    for (let hop = firstHop[w]; hop < firstHop[w + 1]; hop++) flits[hop] = (parent[hop] >= 0 ? flits[parent[hop]] : length[w]) + reader.signed();
  }

  const firstWait = reader.lengths(worms);
  const waits = firstWait[worms];
  const waitHop = new Int32Array(waits);
  for (let w = 0; w < worms; w++) {
    for (let wait = firstWait[w]; wait < firstWait[w + 1]; wait++) {
      const value = reader.next();
      waitHop[wait] = value === 0 ? -1 : firstHop[w] + value - 1;
      if (waitHop[wait] >= firstHop[w + 1]) throw new Error("the replay has a wait for a hop that there is not");
    }
  }
  const since = new Float64Array(waits);
  for (let wait = 0; wait < waits; wait++) since[wait] = (waitHop[wait] < 0 ? cycles : granted[waitHop[wait]]) - reader.signed();
  const firstOption = reader.lengths(waits);
  const option = new Uint32Array(firstOption[waits]);
  let before = 0;
  for (let i = 0; i < option.length; i++) {
    before += reader.signed();
    option[i] = before;
    if (option[i] >= space.size) throw new Error("the replay has a channel that the network has not");
  }
  if (!reader.ended()) throw new Error("the replay has a chunk with more in it than its columns");

  const begin = new Float64Array(worms);
  const end = new Float64Array(worms);
  for (let w = 0; w < worms; w++) {
    let [first, last] = [started[w], -1];
    for (let hop = firstHop[w]; hop < firstHop[w + 1]; hop++) {
      first = Math.min(first, granted[hop]);
      last = Math.max(last, released[hop]);
    }
    for (let wait = firstWait[w]; wait < firstWait[w + 1]; wait++) {
      first = Math.min(first, since[wait]);
      if (waitHop[wait] < 0) last = NEVER;
    }
    for (let d = firstDelivery[w]; d < firstDelivery[w + 1]; d++) last = Math.max(last, delivered[d]);
    if (firstMissing[w + 1] > firstMissing[w]) last = NEVER;
    begin[w] = first;
    end[w] = last;
  }
  const chunk: Chunk = {
    index, worms, worm, message, from, source, destinations, length, generated, started, dead, firstDelivery, deliveredTo, delivered,
    firstMissing, missing, firstHop, parent, channel, granted, released, flits, firstWait, waitHop, since, firstOption, option, begin, end, memory: 0,
  };
  for (const value of Object.values(chunk)) if (ArrayBuffer.isView(value)) chunk.memory += value.byteLength;
  return chunk;
}

function zigzag(value: number): number {
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
}

/** The router in which a link or an injection channel ends; of a consumption channel, that of its node. */
export function endOf(network: Network, space: ChannelSpace, channel: number): number {
  const kind = space.kind(channel);
  if (kind === "link") return network.data.to[channel];
  return kind === "injection" ? network.entryOf(space.node(channel)) : network.routerOf(space.node(channel));
}

/** An exit of a router by its number: its links in the order of ids, then the consumption channels of its nodes. */
function leaving(network: Network, space: ChannelSpace, router: number, exit: number): number {
  const first = network.firstOutput[router];
  const links = network.firstOutput[router + 1] - first;
  if (exit < links) return network.outputs[first + exit];
  const behind = exit - links;
  const node = network.nodesOf(router)[Math.floor(behind / space.consumption)];
  if (node === undefined) throw new Error("the replay has a channel that the network has not");
  return space.consumptionOf(node, behind % space.consumption);
}

// Where each flit of a path worm is, in closed form: docs/worm-engine.md, claim (2).
//
// Flit j (from 1) leaves vertex v in the cycle t(v, j) = max over k of h(v + k) + (j - 1) - k B, where h is the cycle of the grant, B the
// buffer's size, 0 <= k, k B <= j - 1 and v + k is on the path. It holds for path worms that do not share links by virtual channels and whose
// headers are not stripped. Whether it holds is not taken on trust: it has to give the releases that the file has.

import { NEVER } from "./chunk.ts";
import type { Chunk } from "./chunk.ts";
import type { ChannelSpace } from "../network.ts";

/** The times of a worm's flits. */
export class Flits {
  /** The hops of the path, as indices into the chunk: injection, links, and what consumes at the end, if it got there. */
  readonly path: Int32Array;
  readonly #grants: Float64Array;
  readonly #buffer: number;
  /** Flits of the whole worm. */
  readonly count: number;

  constructor(path: Int32Array, grants: Float64Array, buffer: number, count: number) {
    this.path = path;
    this.#grants = grants;
    this.#buffer = buffer;
    this.count = count;
  }

  /** The cycle in which flit j crosses the i-th channel of the path. While the header has not got everywhere that matters, what is known so far: no flit is later than that before the next grant. */
  crosses(i: number, j: number): number {
    const grants = this.#grants;
    let latest = -1;
    for (let k = 0; i + k < grants.length && k * this.#buffer <= j - 1; k++) latest = Math.max(latest, grants[i + k] + (j - 1) - k * this.#buffer);
    return latest;
  }

  /**
   * How many flits have crossed the i-th channel by the end of cycle t. The header's place at t counts: flit j has crossed if its time, from the
   * grants up to t alone, is at most t, and the flit j - k B is not held up by a grant that comes after t.
   */
  crossed(i: number, t: number): number {
    const grants = this.#grants;
    if (!(grants[i] <= t)) return 0;
    // Each k bounds j: a term with a grant after t, or beyond a header that waits, is not below t for any j > kB; those before give j <= t - h + 1 + kB.
    let most = this.count;
    for (let k = 0; i + k <= grants.length; k++) {
      const bound = k * this.#buffer;
      if (bound >= most) break;
      if (i + k === grants.length) {
        // The path goes on, and the header waits for its next grant: buffers fill up. At the end of the path nothing holds back.
        if (!this.#open) break;
        most = Math.min(most, bound);
        break;
      }
      const h = grants[i + k];
      most = Math.min(most, h <= t ? t - h + 1 + bound : bound);
    }
    return Math.max(0, most);
  }

  #open = false;

  /** Says that the header has not reached the end of its path when the run ends. */
  open(): this {
    this.#open = true;
    return this;
  }

  /** Flits in the buffer at the end of the i-th channel, at the end of cycle t. */
  held(i: number, t: number): number {
    return i + 1 < this.path.length || this.#open ? this.crossed(i, t) - this.#left(i, t) : 0;
  }

  #left(i: number, t: number): number {
    return i + 1 < this.path.length ? this.crossed(i + 1, t) : 0;
  }
}

/** The flits of worm w, `headerFlits` in front of its data, or null where the closed form does not hold: trees, virtual channels, stripped headers, unknown buffers. */
export function flitsOf(chunk: Chunk, w: number, space: ChannelSpace, buffer: number | null, headerFlits = 0): Flits | null {
  if (buffer === null) return null;
  const [first, last] = [chunk.firstHop[w], chunk.firstHop[w + 1]];
  if (first === last) return null;
  const path: number[] = [];
  let end = -1;
  for (let hop = first; hop < last; hop++) {
    if (space.kind(chunk.channel[hop]) === "consumption") {
      end = hop;
      continue;
    }
    // Every link continues the one before it, or it is no path.
    if (chunk.parent[hop] !== (path.length > 0 ? path[path.length - 1] : -1)) return null;
    path.push(hop);
  }
  const open = chunk.firstMissing[w + 1] > chunk.firstMissing[w] && !consumesLast(chunk, end, path);
  if (end >= 0 && chunk.parent[end] === path[path.length - 1]) path.push(end);
  const hops = Int32Array.from(path);
  const grants = Float64Array.from(path, (hop) => chunk.granted[hop]);
  // All of them may not have crossed any channel yet.
  const count = Math.max(chunk.length[w] + headerFlits, chunk.flits[path[0]]);
  const flits = new Flits(hops, grants, buffer, count);
  if (open) flits.open();
  return agrees(flits, chunk, w) ? flits : null;
}

function consumesLast(chunk: Chunk, end: number, path: number[]): boolean {
  return end >= 0 && chunk.parent[end] === path[path.length - 1];
}

/** Whether the closed form gives the releases that the file has: of each channel, when the last flit leaves the buffer behind it. */
function agrees(flits: Flits, chunk: Chunk, w: number): boolean {
  const { path } = flits;
  for (let i = 0; i < path.length; i++) {
    const released = chunk.released[path[i]];
    if (released === NEVER) continue;
    // Flits that are stripped on the way make fewer cross later channels.
    if (chunk.flits[path[i]] !== flits.count) return false;
    const leaves = i + 1 < path.length ? flits.crosses(i + 1, flits.count) : flits.crosses(i, flits.count);
    if (leaves !== released) return false;
  }
  for (let hop = chunk.firstHop[w]; hop < chunk.firstHop[w + 1]; hop++) if (chunk.flits[hop] > flits.count) return false;
  return true;
}

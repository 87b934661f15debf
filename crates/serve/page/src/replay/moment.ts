// What is true of a worm in a cycle.

import { NEVER } from "./chunk.ts";
import type { Chunk } from "./chunk.ts";

/** What a worm does: it is prepared at its source, its header is on its way, it waits for channels, its tail follows, or it is through. */
export type Doing = "waits to start" | "starts" | "moves" | "waits" | "arrives" | "done";

/** Calls `visit` for every worm that is there in cycle t: prepared, waiting, or holding something. */
export function present(chunks: readonly Chunk[], t: number, visit: (chunk: Chunk, w: number) => void): void {
  for (const chunk of chunks) {
    const { begin, end, worms } = chunk;
    for (let w = 0; w < worms; w++) if (begin[w] <= t && t <= end[w]) visit(chunk, w);
  }
}

/** Whether a hop is held in cycle t. */
export function holds(chunk: Chunk, hop: number, t: number): boolean {
  return chunk.granted[hop] <= t && t <= chunk.released[hop];
}

/** The wait that a worm is in during cycle t, or -1. A grant in the cycle of its request is no wait. */
export function waitAt(chunk: Chunk, w: number, t: number): number {
  for (let wait = chunk.firstWait[w]; wait < chunk.firstWait[w + 1]; wait++) {
    const hop = chunk.waitHop[wait];
    if (chunk.since[wait] <= t && (hop < 0 || t < chunk.granted[hop])) return wait;
  }
  return -1;
}

/** The channels that are asked for in a wait. */
export function askedFor(chunk: Chunk, wait: number): number[] {
  const [first, last] = [chunk.firstOption[wait], chunk.firstOption[wait + 1]];
  if (first < last) return Array.from(chunk.option.subarray(first, last));
  const hop = chunk.waitHop[wait];
  return hop >= 0 ? [chunk.channel[hop]] : [];
}

export function doing(chunk: Chunk, w: number, t: number): Doing {
  if (t > chunk.end[w]) return "done";
  if (waitAt(chunk, w, t) >= 0) return "waits";
  const first = chunk.firstHop[w];
  if (first === chunk.firstHop[w + 1] || chunk.granted[first] > t) return chunk.started[w] <= t ? "starts" : "waits to start";
  for (let hop = first; hop < chunk.firstHop[w + 1]; hop++) if (chunk.granted[hop] > t) return "moves";
  return chunk.firstMissing[w + 1] > chunk.firstMissing[w] && chunk.released[chunk.firstHop[w + 1] - 1] === NEVER ? "moves" : "arrives";
}

/** The hops behind which a worm's headers stand in cycle t: granted, and with nothing granted behind them. */
export function headers(chunk: Chunk, w: number, t: number): number[] {
  const [first, last] = [chunk.firstHop[w], chunk.firstHop[w + 1]];
  const behind = new Set<number>();
  for (let hop = first; hop < last; hop++) if (chunk.granted[hop] <= t && chunk.parent[hop] >= 0) behind.add(chunk.parent[hop]);
  const heads: number[] = [];
  for (let hop = first; hop < last; hop++) if (chunk.granted[hop] <= t && !behind.has(hop)) heads.push(hop);
  return heads;
}

/** Who holds a channel in cycle t. */
export function holders(chunks: readonly Chunk[], channel: number, t: number): { chunk: Chunk; w: number; hop: number }[] {
  const found: { chunk: Chunk; w: number; hop: number }[] = [];
  present(chunks, t, (chunk, w) => {
    for (let hop = chunk.firstHop[w]; hop < chunk.firstHop[w + 1]; hop++) if (chunk.channel[hop] === channel && holds(chunk, hop, t)) found.push({ chunk, w, hop });
  });
  return found;
}

/** The next cycle after t (or the last before it) in which something happens, by the chunks of t and the first and last cycles of all. */
export function nextEvent(chunks: readonly Chunk[], all: readonly { first_cycle: number; last_cycle: number }[], t: number, backwards: boolean): number | null {
  let best = backwards ? -Infinity : Infinity;
  const see = (cycle: number): void => {
    if (cycle === NEVER) return;
    if (backwards ? cycle < t && cycle > best : cycle > t && cycle < best) best = cycle;
  };
  for (const chunk of chunks) {
    for (const cycles of [chunk.started, chunk.granted, chunk.since, chunk.delivered]) for (let i = 0; i < cycles.length; i++) see(cycles[i]);
    for (let i = 0; i < chunk.released.length; i++) see(chunk.released[i] + 1);
  }
  for (const { first_cycle, last_cycle } of all) if (t < first_cycle || last_cycle < t) see(backwards ? last_cycle : first_cycle);
  return Number.isFinite(best) ? best : null;
}

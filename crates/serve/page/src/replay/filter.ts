// Which worms are looked at.

import type { Query } from "../address.ts";
import { numberBelow } from "../address.ts";
import { asKind } from "../measure.ts";
import type { Kind } from "../measure.ts";
import type { Network } from "../network.ts";
import type { Chunk } from "./chunk.ts";

export interface Filter {
  kind: Kind;
  message: number | null;
  worm: number | null;
  /** A node that sends, receives, or was to. */
  node: number | null;
  /** A channel that the worm takes. */
  link: number | null;
}

/** What a query asks for, as far as there is such a thing in the run. */
export function filterOf(query: Query, network: Network, channels: number, run: { worms: number; messages: number } = { worms: Infinity, messages: Infinity }): Filter {
  return {
    kind: asKind(query.kind),
    message: numberBelow(query.message, run.messages),
    worm: numberBelow(query.worm, run.worms),
    node: numberBelow(query.node, network.data.nodes),
    link: numberBelow(query.link, channels),
  };
}

/** Whether some worms step back: one that is followed does not make the others do so. */
export function isActive(filter: Filter): boolean {
  return filter.kind !== "all" || filter.message !== null || filter.node !== null || filter.link !== null;
}

export function keyOf(filter: Filter): string {
  return [filter.kind, filter.message, filter.node, filter.link].join(" ");
}

export function isMulticast(chunk: Chunk, w: number): boolean {
  return chunk.destinations[w] > 1;
}

export function touches(chunk: Chunk, w: number, node: number): boolean {
  if (chunk.from[w] === node || chunk.source[w] === node) return true;
  for (let d = chunk.firstDelivery[w]; d < chunk.firstDelivery[w + 1]; d++) if (chunk.deliveredTo[d] === node) return true;
  for (let d = chunk.firstMissing[w]; d < chunk.firstMissing[w + 1]; d++) if (chunk.missing[d] === node) return true;
  return false;
}

/** The hop by which a worm takes a channel, or -1. */
export function hopOn(chunk: Chunk, w: number, channel: number): number {
  for (let hop = chunk.firstHop[w]; hop < chunk.firstHop[w + 1]; hop++) if (chunk.channel[hop] === channel) return hop;
  return -1;
}

export function matches(filter: Filter, chunk: Chunk, w: number): boolean {
  if (filter.kind !== "all" && isMulticast(chunk, w) !== (filter.kind === "multicast")) return false;
  if (filter.message !== null && chunk.message[w] !== filter.message) return false;
  if (filter.node !== null && !touches(chunk, w, filter.node)) return false;
  if (filter.link !== null && hopOn(chunk, w, filter.link) < 0) return false;
  return true;
}

/** For each worm of a chunk whether it is looked at; kept with the chunk until the filter changes. */
export class Matcher {
  #key = "";
  #kept = new WeakMap<Chunk, Uint8Array>();

  of(filter: Filter, chunk: Chunk): Uint8Array {
    const key = keyOf(filter);
    if (key !== this.#key) {
      this.#key = key;
      this.#kept = new WeakMap();
    }
    let kept = this.#kept.get(chunk);
    if (!kept) {
      kept = new Uint8Array(chunk.worms);
      for (let w = 0; w < chunk.worms; w++) kept[w] = matches(filter, chunk, w) ? 1 : 0;
      this.#kept.set(chunk, kept);
    }
    return kept;
  }
}

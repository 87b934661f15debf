// A moment of a replay on a canvas.

import type { Colouring } from "../address.ts";
import { categories, ofMessage, palette } from "../draw/colour.ts";
import type { Pen } from "../draw/view.ts";
import type { ChannelSpace, Network } from "../network.ts";
import { endOf, NEVER } from "./chunk.ts";
import type { Chunk } from "./chunk.ts";
import { isActive, isMulticast, Matcher } from "./filter.ts";
import type { Filter } from "./filter.ts";
import { flitsOf } from "./flits.ts";
import type { Flits } from "./flits.ts";
import { askedFor, headers, holds, present, waitAt } from "./moment.ts";

/** A list of numbers that grows and is used again in every frame. */
class List {
  items = new Uint32Array(256);
  count = 0;

  push(item: number): void {
    if (this.count === this.items.length) {
      const larger = new Uint32Array(2 * this.count);
      larger.set(this.items);
      this.items = larger;
    }
    this.items[this.count++] = item;
  }
}

export interface Counts {
  present: number;
  /** Prepared at their sources: they hold nothing yet. */
  starting: number;
  moving: number;
  waiting: number;
  multicasts: number;
  /** Of those that are there, looked at. */
  matching: number;
  /** Worms of which single flits are shown. */
  exact: number;
}

export interface Scene {
  chunks: readonly Chunk[];
  t: number;
  filter: Filter;
  colouring: Colouring;
  /** The worms of the deadlock's cycle. */
  cycle: ReadonlySet<number>;
  buffer: number | null;
}

/** Colours beyond the categories: what steps back, and the deadlock. */
const FAINT = 7;
const LISTS = 8;

export class Drawing {
  readonly #network: Network;
  readonly #space: ChannelSpace;
  readonly #lists = Array.from({ length: LISTS }, () => new List());
  readonly #blocked = Array.from({ length: LISTS }, () => new List());
  readonly #matcher = new Matcher();
  readonly #flits = new WeakMap<Chunk, Map<number, Flits | null>>();

  readonly #headerFlits: number;

  constructor(network: Network, space: ChannelSpace, headerFlits: number) {
    this.#network = network;
    this.#space = space;
    this.#headerFlits = headerFlits;
  }

  /** The flits of a worm, if they are known to each. */
  flits(chunk: Chunk, w: number, buffer: number | null): Flits | null {
    let kept = this.#flits.get(chunk);
    if (!kept) {
      kept = new Map();
      this.#flits.set(chunk, kept);
    }
    let flits = kept.get(w);
    if (flits === undefined) {
      flits = flitsOf(chunk, w, this.#space, buffer, this.#headerFlits);
      kept.set(w, flits);
    }
    return flits;
  }

  matching(filter: Filter, chunk: Chunk): Uint8Array {
    return this.#matcher.of(filter, chunk);
  }

  draw(pen: Pen, scene: Scene): Counts {
    const { chunks, t, filter, colouring, cycle } = scene;
    const counts: Counts = { present: 0, starting: 0, moving: 0, waiting: 0, multicasts: 0, matching: 0, exact: 0 };
    const links = this.#space.links;
    for (const list of [...this.#lists, ...this.#blocked]) list.count = 0;
    const near = pen.pitch >= 16;
    const details: { chunk: Chunk; w: number; wait: number; colour: number }[] = [];
    const active = isActive(filter);
    let followed: { chunk: Chunk; w: number; wait: number } | null = null;
    const dead: { chunk: Chunk; w: number; wait: number }[] = [];

    for (const chunk of chunks) {
      const matched = active ? this.#matcher.of(filter, chunk) : null;
      present([chunk], t, (_, w) => {
        const wait = waitAt(chunk, w, t);
        counts.present++;
        if (wait >= 0) counts.waiting++;
        else if (chunk.firstHop[w] === chunk.firstHop[w + 1] || chunk.granted[chunk.firstHop[w]] > t) counts.starting++;
        else counts.moving++;
        const multicast = isMulticast(chunk, w);
        if (multicast) counts.multicasts++;
        const of = matched === null || matched[w] === 1;
        if (of) counts.matching++;
        const colour = !of ? FAINT : colouring === "message" ? ofMessage(chunk.message[w]) : colouring === "kind" ? (multicast ? 0 : 1) : wait >= 0 ? 1 : 0;
        const list = (wait >= 0 && of ? this.#blocked : this.#lists)[colour];
        for (let hop = chunk.firstHop[w]; hop < chunk.firstHop[w + 1]; hop++) {
          if (chunk.granted[hop] <= t && t <= chunk.released[hop] && chunk.channel[hop] < links) list.push(chunk.channel[hop]);
        }
        if (chunk.worm[w] === filter.worm) followed = { chunk, w, wait };
        if (cycle.has(chunk.worm[w]) && wait >= 0 && chunk.waitHop[wait] < 0) dead.push({ chunk, w, wait });
        else if (near && of) details.push({ chunk, w, wait, colour });
      });
    }

    const colours = palette();
    const paints = [...categories(), colours.faint];
    const thick = Math.max(1.6, pen.thickness * 1.3);
    pen.context.globalAlpha = 0.28;
    pen.channels(this.#lists[FAINT].items, this.#lists[FAINT].count, paints[FAINT], thick * 0.7, true);
    // What is not looked at steps back, and so does all else when the cycle is there.
    pen.context.globalAlpha = dead.length > 0 ? 0.4 : followed ? 0.5 : 1;
    for (let colour = 0; colour < FAINT; colour++) {
      const [moving, blocked] = [this.#lists[colour], this.#blocked[colour]];
      pen.channels(moving.items, moving.count, paints[colour], thick, true);
      pen.channels(blocked.items, blocked.count, paints[colour], thick, true);
    }
    if (near && dead.length === 0) for (const { chunk, w, wait, colour } of details) if (this.#details(pen, scene, chunk, w, wait, paints[colour], followed === null)) counts.exact++;
    pen.context.globalAlpha = 1;

    for (const worm of dead) this.#dead(pen, scene, worm.chunk, worm.w);
    // What each waits for is held by another one, so it goes on top.
    for (const worm of dead) this.#deadWaits(pen, scene, worm.chunk, worm.w, worm.wait);
    if (followed) this.#followed(pen, scene, (followed as { chunk: Chunk }).chunk, (followed as { w: number }).w, (followed as { wait: number }).wait, cycle);
    if (filter.link !== null && filter.link < links) {
      pen.dashed(filter.link, colours.text, 2);
      const [x, y] = pen.along(filter.link, 0.5);
      pen.ring(x, y, Math.max(9, 0.3 * pen.pitch), colours.text, 2);
    }
    const node = filter.link !== null && filter.link >= links ? this.#space.node(filter.link) : filter.node;
    if (node !== null) {
      const [x, y] = this.#network.nodeAt(node);
      pen.ring(pen.x(x), pen.y(y), Math.max(7, 0.3 * pen.pitch), colours.text, 2);
    }
    return counts;
  }

  /** Flits, header and what it waits for. True if flits are known one by one. */
  #details(pen: Pen, scene: Scene, chunk: Chunk, w: number, wait: number, colour: string, flits: boolean): boolean {
    const { t } = scene;
    const times = flits && pen.pitch >= 22 ? this.flits(chunk, w, scene.buffer) : null;
    if (times) this.#drawFlits(pen, times, chunk, t);
    this.#ends(pen, chunk, w, t, colour);
    for (const hop of headers(chunk, w, t)) this.#header(pen, chunk, hop, t, colour);
    if (wait >= 0) this.#waits(pen, chunk, wait, colour, Math.max(1.2, pen.thickness * 0.6));
    return times !== null;
  }

  /** Flits in the buffers at the ends of channels, each a dot. */
  #drawFlits(pen: Pen, times: Flits, chunk: Chunk, t: number): void {
    const { ground } = palette();
    const radius = Math.max(1.3, 0.032 * pen.pitch);
    for (let i = 0; i < times.path.length; i++) {
      const hop = times.path[i];
      const channel = chunk.channel[hop];
      if (channel >= this.#space.links || !holds(chunk, hop, t)) continue;
      const held = times.held(i, t);
      const shown = Math.min(held, 6);
      for (let flit = 0; flit < shown; flit++) {
        const [x, y] = pen.along(channel, 0.9 - 0.13 * flit);
        if (pen.sees(x, y)) pen.disc(x, y, radius, ground);
      }
    }
  }

  /** Where it comes from, and where it is delivered at present. */
  #ends(pen: Pen, chunk: Chunk, w: number, t: number, colour: string): void {
    for (let hop = chunk.firstHop[w]; hop < chunk.firstHop[w + 1]; hop++) {
      const channel = chunk.channel[hop];
      if (channel < this.#space.links || !holds(chunk, hop, t)) continue;
      const [x, y] = this.#network.nodeAt(this.#space.node(channel));
      const [px, py] = [pen.x(x), pen.y(y)];
      if (!pen.sees(px, py)) continue;
      // Beside the router, so that its name can be read.
      if (this.#space.kind(channel) === "injection") pen.disc(px - 0.21 * pen.pitch, py + 0.21 * pen.pitch, Math.max(2, 0.075 * pen.pitch), colour);
      else pen.ring(px, py, pen.nodeRadius * 1.05, colour, Math.max(1.5, 0.05 * pen.pitch));
    }
  }

  #header(pen: Pen, chunk: Chunk, hop: number, t: number, colour: string): void {
    const channel = chunk.channel[hop];
    if (channel >= this.#space.links || !holds(chunk, hop, t)) return;
    const [x, y, angle] = pen.along(channel, 1);
    if (pen.sees(x, y)) pen.head(x, y, angle, Math.max(3, 0.13 * pen.pitch), colour);
  }

  /** A short dashed line into the channels that are asked for, as others may be in them. */
  #waits(pen: Pen, chunk: Chunk, wait: number, colour: string, thickness: number): void {
    for (const channel of askedFor(chunk, wait)) {
      if (channel < this.#space.links) {
        const [x1, y1] = pen.alongFirst(channel, 0);
        const [x2, y2] = pen.alongFirst(channel, 0.4);
        pen.bar(x1, y1, x2, y2, palette().ground, thickness + 3);
        pen.context.setLineDash([thickness * 1.6, thickness]);
        pen.bar(x1, y1, x2, y2, colour, thickness);
        pen.context.setLineDash([]);
      } else {
        const [x, y] = this.#network.nodeAt(this.#space.node(channel));
        pen.context.setLineDash([3, 3]);
        pen.ring(pen.x(x), pen.y(y), pen.nodeRadius * 1.25, colour, thickness);
        pen.context.setLineDash([]);
      }
    }
  }

  /** A worm of the deadlock's cycle: what it holds, in red. */
  #dead(pen: Pen, scene: Scene, chunk: Chunk, w: number): void {
    const { dead, ground } = palette();
    const held = new List();
    for (let hop = chunk.firstHop[w]; hop < chunk.firstHop[w + 1]; hop++) if (chunk.channel[hop] < this.#space.links && holds(chunk, hop, scene.t)) held.push(chunk.channel[hop]);
    pen.channels(held.items, held.count, ground, pen.thickness * 1.4 + 4);
    pen.channels(held.items, held.count, dead, Math.max(2.5, pen.thickness * 1.4), true);
    this.#ends(pen, chunk, w, scene.t, dead);
    const times = pen.pitch >= 22 ? this.flits(chunk, w, scene.buffer) : null;
    if (times) this.#drawFlits(pen, times, chunk, scene.t);
  }

  /** What a worm of the cycle waits for, and its name where its header is. */
  #deadWaits(pen: Pen, scene: Scene, chunk: Chunk, w: number, wait: number): void {
    const { dead, ground, text } = palette();
    for (const channel of askedFor(chunk, wait)) {
      if (channel >= this.#space.links) {
        const [x, y] = this.#network.nodeAt(this.#space.node(channel));
        pen.context.setLineDash([4, 3]);
        pen.ring(pen.x(x), pen.y(y), pen.nodeRadius * 1.5, text, 2);
        pen.context.setLineDash([]);
        continue;
      }
      pen.dashed(channel, ground, Math.max(2, 0.6 * pen.thickness));
      const [x, y, angle] = pen.along(channel, 0.9);
      pen.head(x, y, angle, Math.max(4, 0.1 * pen.pitch), text);
    }
    for (const hop of headers(chunk, w, scene.t)) {
      if (chunk.channel[hop] >= this.#space.links || pen.pitch < 26) continue;
      const [x, y] = pen.along(chunk.channel[hop], 0.62);
      pen.tag(x, y, String(chunk.worm[w]), dead, ground);
    }
  }

  /** The worm that is followed: where it was, is and will be. */
  #followed(pen: Pen, scene: Scene, chunk: Chunk, w: number, wait: number, cycle: ReadonlySet<number>): void {
    const { t } = scene;
    const colours = palette();
    const colour = cycle.has(chunk.worm[w]) && wait >= 0 && chunk.waitHop[wait] < 0 ? colours.dead : categories()[ofMessage(chunk.message[w])];
    const [past, now] = [new List(), new List()];
    for (let hop = chunk.firstHop[w]; hop < chunk.firstHop[w + 1]; hop++) {
      const channel = chunk.channel[hop];
      if (channel >= this.#space.links) continue;
      if (holds(chunk, hop, t)) now.push(channel);
      else if (chunk.granted[hop] > t) pen.dashed(channel, colour, Math.max(1, 0.3 * pen.thickness));
      else past.push(channel);
    }
    pen.context.globalAlpha = 0.35;
    pen.channels(past.items, past.count, colour, Math.max(1.5, 0.5 * pen.thickness));
    pen.context.globalAlpha = 1;
    pen.channels(now.items, now.count, colours.text, Math.max(4.5, pen.thickness * 1.7 + 3));
    pen.channels(now.items, now.count, colour, Math.max(3, pen.thickness * 1.7), true);
    this.#ends(pen, chunk, w, t, colour);
    const times = pen.pitch >= 16 ? this.flits(chunk, w, scene.buffer) : null;
    if (times) this.#drawFlits(pen, times, chunk, t);
    for (const hop of headers(chunk, w, t)) this.#header(pen, chunk, hop, t, colours.text);
    if (wait >= 0) this.#waits(pen, chunk, wait, colours.text, Math.max(2, pen.thickness * 0.8));
    const [sx, sy] = this.#network.nodeAt(chunk.from[w]);
    pen.ring(pen.x(sx), pen.y(sy), Math.max(5, 1.25 * pen.nodeRadius), colour, Math.max(2, 0.06 * pen.pitch));
    const [reached, missing] = [new Set<number>(), new Set<number>()];
    for (let d = chunk.firstDelivery[w]; d < chunk.firstDelivery[w + 1]; d++) (chunk.delivered[d] <= t ? reached : missing).add(chunk.deliveredTo[d]);
    for (let d = chunk.firstMissing[w]; d < chunk.firstMissing[w + 1]; d++) missing.add(chunk.missing[d]);
    for (const node of missing) this.#destination(pen, node, colour, false);
    for (const node of reached) this.#destination(pen, node, colour, true);
  }

  #destination(pen: Pen, node: number, colour: string, reached: boolean): void {
    const [x, y] = this.#network.nodeAt(node);
    const [px, py] = [pen.x(x), pen.y(y)];
    const side = Math.max(7, 0.26 * pen.pitch);
    pen.context.lineWidth = 2;
    pen.context.strokeStyle = colour;
    pen.context.strokeRect(px - side / 2, py - side / 2, side, side);
    if (!reached) return;
    pen.context.globalAlpha = 0.6;
    pen.context.fillStyle = colour;
    pen.context.fillRect(px - side / 2, py - side / 2, side, side);
    pen.context.globalAlpha = 1;
  }
}

/** The router at which a worm's header stands, or null before it has entered the network. */
export function headerAt(chunk: Chunk, w: number, t: number, network: Network, space: ChannelSpace): number | null {
  const heads = headers(chunk, w, t).filter((hop) => space.kind(chunk.channel[hop]) !== "consumption");
  const last = heads[heads.length - 1];
  return last === undefined || chunk.granted[last] === NEVER ? null : endOf(network, space, chunk.channel[last]);
}

// A network as the page has it: names, wiring, and where channels lie in the plane.

import type { NetworkData } from "./api.ts";

/** A straight piece of a channel: four coordinates. */
export const PIECE = 4;

/** The space between a router's centre and where its channels begin, in units. */
export const GAP = 0.17;

export class Network {
  readonly data: NetworkData;
  readonly links: number;
  /** The distance that pictures are scaled by: between neighbours in a grid, else what links between routers are long. */
  readonly unit: number;
  /** Pieces of channels: those of channel c are `pieces[first[c]..first[c + 1]]`, each x1, y1, x2, y2. The last one ends at the router that the channel leads to. */
  readonly pieces: Float32Array;
  readonly first: Uint32Array;
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  /** Channels that leave each router, in the order of their ids. */
  readonly outputs: Uint32Array;
  readonly firstOutput: Uint32Array;
  /** Nodes are drawn apart from their routers. */
  readonly nodeX: ArrayLike<number> | null;
  readonly nodeY: ArrayLike<number> | null;
  #nodesOf: number[][] | null = null;

  constructor(data: NetworkData) {
    this.data = data;
    this.links = data.from.length;
    this.nodeX = data.node_x ?? null;
    this.nodeY = data.node_y ?? null;
    this.unit = unitOf(data);

    const counts = new Uint32Array(data.routers + 1);
    for (const router of data.from) counts[router + 1]++;
    for (let r = 0; r < data.routers; r++) counts[r + 1] += counts[r];
    this.firstOutput = counts;
    this.outputs = new Uint32Array(this.links);
    const at = counts.slice();
    for (let channel = 0; channel < this.links; channel++) this.outputs[at[data.from[channel]]++] = channel;

    const pieces: number[] = [];
    this.first = new Uint32Array(this.links + 1);
    const grid = ["mesh", "torus", "hypercube"].includes(data.shape);
    const beside = sideways(data);
    for (let channel = 0; channel < this.links; channel++) {
      lay(pieces, data, channel, this.unit, grid, beside[channel]);
      this.first[channel + 1] = pieces.length / PIECE;
    }
    this.pieces = Float32Array.from(pieces);

    let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
    const see = (x: number, y: number): void => {
      left = Math.min(left, x);
      right = Math.max(right, x);
      top = Math.min(top, y);
      bottom = Math.max(bottom, y);
    };
    for (let r = 0; r < data.routers; r++) see(data.x[r], data.y[r]);
    for (let i = 0; i < pieces.length; i += 2) see(pieces[i], pieces[i + 1]);
    if (this.nodeX && this.nodeY) for (let n = 0; n < data.nodes; n++) see(this.nodeX[n], this.nodeY[n]);
    if (left > right) [left, top, right, bottom] = [0, 0, 1, 1];
    const space = 0.6 * this.unit;
    this.left = left - space;
    this.top = top - space;
    this.width = right - left + 2 * space;
    this.height = bottom - top + 2 * space;
  }

  /** Whether routers are written by their coordinates. */
  isGrid(): boolean {
    return this.data.shape === "mesh" || this.data.shape === "torus";
  }

  routerLabel(router: number): string {
    return this.data.labels?.[router] ?? (this.isGrid() ? coordinates(router, this.data.size) : String(router));
  }

  nodeLabel(node: number): string {
    if (this.data.node_labels) return this.data.node_labels[node];
    return this.data.nodes === this.data.routers && this.isGrid() ? coordinates(node, this.data.size) : String(node);
  }

  linkLabel(link: number): string {
    return this.data.link_labels?.[link] ?? `${this.routerLabel(this.data.from[link])} -> ${this.routerLabel(this.data.to[link])}`;
  }

  routerOf(node: number): number {
    return this.data.node_router?.[node] ?? node;
  }

  entryOf(node: number): number {
    return this.data.entry_router?.[node] ?? this.routerOf(node);
  }

  nodesOf(router: number): number[] {
    if (!this.#nodesOf) {
      this.#nodesOf = Array.from({ length: this.data.routers }, () => []);
      for (let node = 0; node < this.data.nodes; node++) this.#nodesOf[this.routerOf(node)].push(node);
    }
    return this.#nodesOf[router];
  }

  x(router: number): number {
    return this.data.x[router];
  }

  y(router: number): number {
    return this.data.y[router];
  }

  /** Where a node lies: apart, or at its router. */
  nodeAt(node: number): [number, number] {
    if (this.nodeX && this.nodeY) return [this.nodeX[node], this.nodeY[node]];
    const router = this.routerOf(node);
    return [this.x(router), this.y(router)];
  }

  /** The router with this name, or null. */
  findRouter(text: string): number | null {
    const wanted = text.trim().toLowerCase();
    for (let r = 0; r < this.data.routers; r++) if (this.routerLabel(r).toLowerCase() === wanted) return r;
    return null;
  }

  findNode(text: string): number | null {
    const wanted = text.trim().toLowerCase();
    // As the command has it, a number comes before a name.
    if (/^\d+$/.test(wanted) && Number(wanted) < this.data.nodes) return Number(wanted);
    for (let n = 0; n < this.data.nodes; n++) if (this.nodeLabel(n).toLowerCase() === wanted) return n;
    return null;
  }

  /** The channel that is written so: `0,1 -> 0,2`, whatever the spaces, or `->` as `to` or `→`. */
  findLink(text: string): number | null {
    const plain = (label: string): string => label.toLowerCase().replace(/\s*(->|→|\bto\b)\s*/g, "->").trim();
    const wanted = plain(text);
    for (let link = 0; link < this.links; link++) if (plain(this.linkLabel(link)) === wanted) return link;
    return null;
  }

  /** The channels of links that are written as their two ends with a hyphen between, each both ways. */
  linksBetween(ends: readonly string[]): number[] {
    const found: number[] = [];
    if (ends.length === 0) return found;
    const wanted = new Set(ends.map((end) => end.trim()));
    // As for the server, numbers come before names.
    for (const label of [(router: number) => String(router), (router: number) => this.routerLabel(router)]) {
      const matched = new Set<string>();
      for (let link = 0; link < this.links && wanted.size > 0; link++) {
        const [a, b] = [label(this.data.from[link]), label(this.data.to[link])];
        const name = [`${a}-${b}`, `${b}-${a}`].find((name) => wanted.has(name));
        if (name === undefined) continue;
        found.push(link);
        matched.add(`${a}-${b}`).add(`${b}-${a}`);
      }
      for (const name of matched) wanted.delete(name);
    }
    return found;
  }
}

/** Which channel it is: a link, a port of injection or one of consumption. */
export type ChannelKind = "link" | "injection" | "consumption";

/** The numbering of all channels of a network with so many ports a node: links, then injection, then consumption channels. */
export class ChannelSpace {
  readonly links: number;
  readonly nodes: number;
  readonly injection: number;
  readonly consumption: number;

  constructor(links: number, nodes: number, injection: number, consumption: number) {
    this.links = links;
    this.nodes = nodes;
    this.injection = injection;
    this.consumption = consumption;
  }

  get size(): number {
    return this.links + this.nodes * (this.injection + this.consumption);
  }

  kind(channel: number): ChannelKind {
    if (channel < this.links) return "link";
    return channel < this.links + this.nodes * this.injection ? "injection" : "consumption";
  }

  node(channel: number): number {
    const behind = channel - this.links;
    return behind < this.nodes * this.injection ? Math.floor(behind / this.injection) : Math.floor((behind - this.nodes * this.injection) / this.consumption);
  }

  port(channel: number): number {
    const behind = channel - this.links;
    return behind < this.nodes * this.injection ? behind % this.injection : (behind - this.nodes * this.injection) % this.consumption;
  }

  injectionOf(node: number, port: number): number {
    return this.links + node * this.injection + port;
  }

  consumptionOf(node: number, port: number): number {
    return this.links + this.nodes * this.injection + node * this.consumption + port;
  }

  /** As the command writes it, such as `0,1 -> 0,2` or `consumption 3,1[0]`. */
  label(network: Network, channel: number): string {
    const kind = this.kind(channel);
    return kind === "link" ? network.linkLabel(channel) : `${kind} ${network.nodeLabel(this.node(channel))}[${this.port(channel)}]`;
  }
}

/** Coordinates of a router of a grid, dimension 0 changing fastest. */
export function coordinates(router: number, size: readonly number[]): string {
  const parts: number[] = [];
  let rest = router;
  for (const extent of size) {
    parts.push(rest % extent);
    rest = Math.floor(rest / extent);
  }
  return parts.join(",");
}

function unitOf(data: NetworkData): number {
  const lengths: number[] = [];
  const step = Math.max(1, Math.floor(data.from.length / 4000));
  for (let channel = 0; channel < data.from.length; channel += step) {
    const [a, b] = [data.from[channel], data.to[channel]];
    const length = Math.hypot(data.x[a] - data.x[b], data.y[a] - data.y[b]);
    if (length > 0) lengths.push(length);
  }
  if (lengths.length === 0) return 48;
  lengths.sort((a, b) => a - b);
  if (["mesh", "torus", "hypercube"].includes(data.shape)) return lengths[0];
  return Math.min(lengths[lengths.length >> 1], data.disc ? data.disc * 6 : Infinity);
}

/** For parallel channels from one router to another: how many lie nearer to the middle. */
function sideways(data: NetworkData): Uint16Array {
  const seen = new Map<number, number>();
  const result = new Uint16Array(data.from.length);
  for (let channel = 0; channel < data.from.length; channel++) {
    const pair = data.from[channel] * data.routers + data.to[channel];
    const before = seen.get(pair) ?? 0;
    result[channel] = before;
    seen.set(pair, before + 1);
  }
  return result;
}

/** Lays out a channel to the right of its direction, from disc to disc. Links that wrap around are a stub at both ends; links between planes of a grid bend away. */
function lay(pieces: number[], data: NetworkData, channel: number, unit: number, grid: boolean, before: number): void {
  const [a, b] = [data.from[channel], data.to[channel]];
  const [x1, y1, x2, y2] = [data.x[a], data.y[a], data.x[b], data.y[b]];
  const aside = (0.085 + 0.12 * before) * unit;
  const gap = GAP * unit;
  const straight = (fromX: number, fromY: number, toX: number, toY: number, before: number, behind: number): void => {
    const length = Math.hypot(toX - fromX, toY - fromY) || 1;
    const [ux, uy] = [(toX - fromX) / length, (toY - fromY) / length];
    const [sx, sy] = [-uy * aside, ux * aside];
    pieces.push(fromX + ux * before + sx, fromY + uy * before + sy, toX - ux * behind + sx, toY - uy * behind + sy);
  };
  if (!grid) {
    straight(x1, y1, x2, y2, gap, gap);
    return;
  }
  const [dimension, steps] = apart(a, b, data.size);
  if (dimension < 2 && Math.abs(steps) > 1 && (x1 === x2 || y1 === y2)) {
    // Outwards on this side, and in from outside on the other.
    const length = Math.hypot(x2 - x1, y2 - y1);
    const [ox, oy] = [-(x2 - x1) / length, -(y2 - y1) / length];
    const reach = 0.45 * unit;
    straight(x1, y1, x1 + ox * reach, y1 + oy * reach, gap, 0);
    straight(x2 - ox * reach, y2 - oy * reach, x2, y2, 0, gap);
    return;
  }
  if (dimension >= 2) {
    const length = Math.hypot(x2 - x1, y2 - y1) || 1;
    const [ux, uy] = [(x2 - x1) / length, (y2 - y1) / length];
    const bend = Math.min(0.35 * unit, 0.2 * length) + aside;
    const PARTS = 8;
    const at = (t: number): [number, number] => {
      const out = 4 * bend * t * (1 - t);
      return [x1 + (x2 - x1) * t - uy * out, y1 + (y2 - y1) * t + ux * out];
    };
    const from = gap / length;
    for (let i = 0; i < PARTS; i++) {
      const [t0, t1] = [from + ((1 - 2 * from) * i) / PARTS, from + ((1 - 2 * from) * (i + 1)) / PARTS];
      pieces.push(...at(t0), ...at(t1));
    }
    return;
  }
  straight(x1, y1, x2, y2, gap, gap);
}

/** The dimension in which two routers of a grid differ, and by how much. */
function apart(a: number, b: number, size: readonly number[]): [number, number] {
  let [p, q] = [a, b];
  for (let dimension = 0; dimension < size.length; dimension++) {
    const steps = (q % size[dimension]) - (p % size[dimension]);
    if (steps !== 0) return [dimension, steps];
    p = Math.floor(p / size[dimension]);
    q = Math.floor(q / size[dimension]);
  }
  return [0, 0];
}

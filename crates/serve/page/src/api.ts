// What the server answers; crates/serve/API.md has the forms.

import type { Query } from "./address.ts";

export interface Item {
  path: string;
  kind: "experiment" | "store" | "replay" | "network" | "tables" | "multicast-tables";
  bytes: number;
  modified: number;
  /** The files that belong to it, by the parameters of its view that name them. */
  beside: Query;
}

export interface Info {
  version: string;
  commit: string | null;
  root: string;
  open: Item | null;
  items: Item[];
  /** There are more files than are listed. */
  more: boolean;
}

export interface Catalogue {
  algorithms: { name: string; summary: string; networks: string; shapes: string[]; options: string[]; routing: string | null; faults: boolean; draws: boolean }[];
  routings: { name: string; summary: string; networks: string; root: boolean }[];
  quantities: { name: string }[];
}

export interface NetworkData {
  name: string;
  shape: string;
  size: number[];
  wraps: boolean;
  routers: number;
  nodes: number;
  x: number[];
  y: number[];
  labels: string[] | null;
  node_router: number[] | null;
  node_labels: string[] | null;
  node_x?: number[] | null;
  node_y?: number[] | null;
  from: number[];
  to: number[];
  reverse: number[];
  link_labels: string[] | null;
  entry_router?: number[] | null;
  unidirectional?: boolean;
  disc?: number;
  warning?: string;
}

export interface Plan {
  topology: string;
  algorithm: string;
  source: number;
  destinations: number[];
  worms: { id: number; from: number; after: number | null; step: number; visits: number[]; channels: [number, number][] }[];
  /** The ids of each worm's channels. */
  channel_ids: number[][];
  startups: number;
  steps: number;
  channels: number;
  longest: number;
  contention: unknown;
  deadlock_free: boolean | null;
  failed: number[];
  warning?: string;
}

export interface Analysis {
  topology: string;
  routing?: string;
  algorithm?: string;
  consumption_ports: number;
  deadlock_free: boolean;
  /** The resources of the cycle: a channel, or the consumption channels of a node. */
  cycle_resources: { text: string; channel: number | null; node: number | null }[] | null;
  closed_by: { pairs?: number; examples: [number, number][]; multicasts?: number[]; groups?: string[] }[] | null;
  numbering: (number | null)[] | null;
  connected: boolean | null;
  turns: number | null;
  prohibited: [number, number, number][] | null;
  all_prohibited: number | null;
  fraction: number | null;
  irreducible: boolean | null;
  average_distance: number | null;
  diameter: number | null;
  loads: number[] | null;
  /** Why files may not be whole. */
  warning?: string;
  /** Of tables: what does not arrive, and the entries that are missing. */
  tables?: { pairs: number; undelivered_pairs: number; missing_count: number };
  /** Of a fabric whose virtual lanes were given. */
  lanes?: Lanes;
  /** Of a fabric whose multicast tables were given: how packets of groups branch, the groups, and who closes the cycle. */
  branching?: string;
  groups?: { mlid: string }[];
  blame?: Blame;
}

export interface Lanes {
  count: number;
  switches_without: number;
  without_level: number;
  dropped: number;
  by_lane: { lane: number; deadlock_free: boolean; blocked: number }[];
}

export interface Blame {
  unicasts_alone: boolean;
  alone: string[];
  smallest: string[];
  is_smallest: boolean;
}

export interface Dependencies {
  edges: [number, number][];
  further: boolean;
  /** Whether virtual channels or lanes of a channel are taken together here, while the verdict tells them apart. */
  divided: boolean;
}

/** A worm that waits forever, as `simulate --waits` writes it. */
export interface Waiting {
  worm: number;
  message: number;
  source_name: string;
  destination_names: string[];
  holds: Resource[];
  waits_for: Resource[];
  since: number | null;
}

export interface Resource {
  label: string;
  kind: string;
  channel?: number;
  node?: number;
  at?: string | null;
  since?: number | null;
  worms?: number[];
}

/** A worm of the cycle that is found, as `simulate --format json` prints it. */
export interface DeadWorm {
  worm: number;
  message: number;
  header_at: number;
  router: string;
  holds: string[];
  waits_for: string[];
}

/** One number for each channel, those of nodes included. */
export interface Use {
  flits: number[];
  held: number[];
  waited: number[];
  worms: number[];
}

export interface ReplayHeader {
  version: number;
  program: string;
  topology: string;
  algorithm: string;
  title: string;
  network: NetworkData;
  ports: { injection: number; consumption: number };
  settings: { engine?: string; seed?: number; startup?: number; cycle_ns?: number; buffer?: number | null; header_flits?: number | null; virtual_channels?: number; flits?: "exact" | "held" };
  cycles: number;
  interrupted: boolean;
  counts: { messages: number; worms: number; deliveries: number; hops: number; waits: number };
  deadlock: { at: number; dead: number; cycle: DeadWorm[] } | null;
  dead: Waiting[];
  measures: Use & { multicast: Use };
  chunks: { first_cycle: number; last_cycle: number; worms: number; offset: number; bytes: number; size: number }[];
}

export interface CurvePoint {
  x: number;
  mean: number | null;
  low: number | null;
  high: number | null;
  saturated: boolean;
  deadlocked: boolean;
  unsettled: boolean;
  replications: number;
  /** Its name in the store. */
  point: string;
  settings: { key: string; value: unknown }[];
}

export interface Axis {
  name: string;
  /** In words, with its unit. */
  label: string;
  log: boolean;
}

/** What there is of an experiment that has no numbers to plot against. */
export interface Tabled {
  title: string;
  quantities: string[];
  table: { columns: string[]; rows: (string | number | boolean | null)[][] };
  /** The same as the command writes it. */
  csv: string;
  /** Without a plot: why there is none. */
  notes: string[];
}

export interface Curves extends Tabled {
  /** Whether points have latencies, and can be recorded. */
  simulated: boolean;
  x: Axis;
  y: Axis;
  series: { name: string; points: CurvePoint[] }[];
}

/** A run of a point that is recorded: one of its replications, counted from 0. The seed is text, as it has 64 bits. */
export interface Recorded {
  file: string;
  state: "running" | "done";
  replication: number | null;
  seed: string;
  deadlocked: boolean | null;
}

/** What is behind a point: quantiles of the latency in cycles, and its parts. */
export interface Distribution {
  quantiles: [number, number][];
  parts: Partial<Record<string, number>> | null;
  cycle_ns: number;
  replications: number;
}

export interface Sweep {
  id: string;
  experiment: string;
  store: string;
  title: string;
  state: "running" | "done" | "stopped" | "failed" | "partial" | "elsewhere";
  points_done: number;
  points: number;
  replications_done: number;
  replications: number;
  seconds: number;
  seconds_left: number | null;
  error: string | null;
  claims: { id: string; text: string; verdict: string }[];
  /** Times are seconds since 1970. */
  origins: { version: string; commit: string; machine: string; first: number; when: number; seed: number | null; replications: number; computing_seconds: number }[];
}

/** An answer that is an error: its message is the command's. */
export class Refused extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Parameters of a request; a list is given once for each item, and what is empty is left out. */
export type Parameters = Readonly<Record<string, string | number | null | undefined | readonly string[]>>;

function address(path: string, query: Parameters): string {
  const parts = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (Array.isArray(value)) for (const item of value as readonly string[]) parts.append(key, item);
    else if (value !== null && value !== undefined && value !== "") parts.set(key, String(value));
  }
  const text = parts.toString();
  return text ? `${path}?${text}` : path;
}

async function answer(response: Response): Promise<Response> {
  if (response.ok) return response;
  let message = `the server answered ${response.status}`;
  try {
    const body = (await response.json()) as { error?: string };
    if (body.error) message = body.error;
  } catch {
    // Not JSON: the status has to do.
  }
  throw new Refused(response.status, message);
}

async function reach(input: string, init?: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(input, init);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Refused(0, "the server does not answer: is `wormcast serve` still running?");
  }
  return answer(response);
}

export async function get<T>(path: string, query: Parameters = {}, signal?: AbortSignal): Promise<T> {
  return (await (await reach(address(path, query), { signal: signal ?? null })).json()) as T;
}

export async function getBytes(path: string, query: Parameters, signal?: AbortSignal): Promise<Uint8Array> {
  return new Uint8Array(await (await reach(address(path, query), { signal: signal ?? null })).arrayBuffer());
}

export async function post<T>(path: string, body: unknown): Promise<T> {
  const response = await reach(path, { method: "POST", headers: { "Content-Type": "application/json", "X-Wormcast": "page" }, body: JSON.stringify(body) });
  const text = await response.text();
  return (text ? JSON.parse(text) : {}) as T;
}

/** Whether a request was given up because nobody wants its answer any more. */
export function isAborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

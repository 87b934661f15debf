// What a view shows, as an address that can be sent to a colleague.

import { KINDS, MEASURES } from "./measure.ts";

export const VIEWS = ["home", "network", "replay", "deadlock", "plan", "curves", "sweeps"] as const;
export type ViewName = (typeof VIEWS)[number];

/** What the address of each view may say. */
const PARAMETERS: Record<ViewName, readonly string[]> = {
  home: [],
  network: ["topology", "replay", "router", "link", "measure", "kind"],
  replay: ["file", "cycle", "speed", "colour", "measure", "by", "kind", "message", "worm", "node", "link"],
  deadlock: ["topology", "algorithm", "routing", "tables", "multicast_tables", "groups", "branching", "lanes", "sl2vl", "root", "seed", "consumption_ports", "virtual_channels", "failed", "show", "sl"],
  plan: ["topology", "source", "destinations", "algorithms", "failed", "routing", "ports", "seed"],
  curves: ["experiment", "store", "y", "log", "hide", "point", "tab"],
  sweeps: ["experiment"],
};

/** The values of parameters that take a word out of a list. */
const WORDS: Record<string, readonly string[]> = { measure: MEASURES, kind: KINDS };

/** What an address says that its view does not know, or in vain, in words; "" if there is nothing. */
export function unknown({ view, query, twice = [] }: Address): string {
  const known = PARAMETERS[view];
  // The token is the server's.
  const names = Object.keys(query).filter((name) => name !== "token" && !known.includes(name));
  const expected = known.length === 0 ? "this view has none" : `expected ${known.join(", ")}`;
  const said = twice.map((name) => `The address has “${name}” twice: the last one counts`);
  if (names.length > 0) said.push(`The address has ${names.map((name) => `“${name}”`).join(", ")}, which makes no difference here: ${expected}`);
  for (const [name, words] of Object.entries(WORDS)) {
    const given = query[name];
    if (given !== undefined && known.includes(name) && !words.includes(given)) said.push(`There is no ${name} “${given}”: expected ${words.join(", ")}`);
  }
  if (view === "network" && query.replay && query.topology) said.push("“topology” makes no difference beside “replay”, which has a network of its own");
  return said.join(". ");
}

export interface Address {
  view: ViewName;
  query: Query;
  /** What is there several times. */
  twice?: readonly string[];
}

export type Query = Readonly<Record<string, string>>;

/** The address of a location; unknown paths are home. */
export function parse(path: string, search: string): Address {
  const name = path.replace(/^\/+|\/+$/g, "");
  const view = (VIEWS as readonly string[]).includes(name) ? (name as ViewName) : "home";
  const query: Record<string, string> = {};
  const twice = new Set<string>();
  for (const [key, value] of new URLSearchParams(search)) {
    if (Object.hasOwn(query, key)) twice.add(key);
    query[key] = value;
  }
  return twice.size > 0 ? { view, query, twice: [...twice] } : { view, query };
}

/** The text of an address. Empty values are left out, and what is readable stays readable: `:`, `,` and `/` need no escapes in a query. */
export function format(view: ViewName, query: Query): string {
  const parts = Object.entries(query)
    .filter(([, value]) => value !== "")
    .map(([key, value]) => `${escape(key)}=${escape(value)}`);
  return `/${view === "home" ? "" : view}${parts.length ? `?${parts.join("&")}` : ""}`;
}

function escape(text: string): string {
  return encodeURIComponent(text).replace(/%(3A|2C|2F|3B|40)/g, (code) => decodeURIComponent(code));
}

/** A query with some values changed; null removes one. */
export function changed(query: Query, changes: Readonly<Record<string, string | number | null | undefined>>): Query {
  const next: Record<string, string> = { ...query };
  for (const [key, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === "") delete next[key];
    else next[key] = String(value);
  }
  return next;
}

/** A list in a query; `separator` stands between its items. */
export function list(value: string | undefined, separator = ","): string[] {
  return value ? value.split(separator).filter((item) => item !== "") : [];
}

/** A whole number of 0 or more, or null. */
export function whole(value: string | undefined): number | null {
  return value !== undefined && /^\d{1,15}$/.test(value) ? Number(value) : null;
}

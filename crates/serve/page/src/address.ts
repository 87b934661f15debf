// What a view shows, as an address that can be sent to a colleague.

import { listed } from "./dom.ts";
import { KINDS, MEASURES } from "./measure.ts";

export const VIEWS = ["home", "network", "replay", "deadlock", "plan", "curves", "sweeps"] as const;
export type ViewName = (typeof VIEWS)[number];

/** What the address of each view may say. */
const PARAMETERS: Record<ViewName, readonly string[]> = {
  home: [],
  network: ["topology", "replay", "router", "link", "measure", "kind"],
  replay: ["file", "cycle", "speed", "colour", "measure", "by", "kind", "message", "worm", "node", "link"],
  deadlock: ["topology", "algorithm", "routing", "tables", "multicast_tables", "groups", "branching", "lanes", "sl2vl", "root", "seed", "consumption_ports", "virtual_channels", "failed", "show"],
  plan: ["topology", "source", "destinations", "algorithms", "failed", "routing", "ports", "seed"],
  curves: ["experiment", "store", "y", "log", "hide", "point", "tab"],
  sweeps: ["experiment"],
};

/** How the worms of a replay are coloured. */
export const COLOURINGS = ["message", "kind", "state"] as const;
export type Colouring = (typeof COLOURINGS)[number];

/** How fast a replay plays, in cycles a second. */
export const SPEEDS = [1, 5, 20, 100, 500, 2_000, 10_000, 100_000];

/** What stands below curves. */
export const TABS = ["values", "parts", "all"] as const;

/** Parameters that take a word out of a list, whatever is shown. */
const WORDS: Record<string, readonly string[]> = {
  measure: MEASURES,
  by: MEASURES,
  kind: KINDS,
  colour: COLOURINGS,
  speed: SPEEDS.map(String),
  tab: TABS,
  log: ["0", "1"],
};

/** Says that there is no such thing as was asked for, and what there is. */
export function noSuch(what: string, given: string, there: string): string {
  return `There is no ${what} “${given}”: ${there}`;
}

/** What is wrong with the name of a thing; "" if nothing is, or if there is no name. */
export function wrongName(what: string, given: string | undefined, names: readonly string[]): string {
  return !given || names.includes(given) ? "" : noSuch(what, given, `expected ${listed(names)}`);
}

/** What is wrong with a parameter that takes one of some words; "" if nothing is, or if there is no value. */
export function wrongWord(parameter: string, given: string | undefined, words: readonly string[]): string {
  return !given || words.includes(given) ? "" : `\`${parameter}\` cannot be “${given}”: expected ${either(words)}`;
}

/** What is wrong with a value that is to be the number of one of so many things; "" if nothing is, or if there is no value. */
export function wrongNumber(what: string, given: string | undefined, count: number, of: string): string {
  return !given || numberBelow(given, count) !== null ? "" : noSuch(what, given, numbersBelow(what, count, of));
}

/** The numbers of things of which something has so many, in words. */
export function numbersBelow(what: string, count: number, of: string): string {
  return count === 0 ? `the ${of} has no ${what}s` : `expected a number from 0 to ${count - 1}`;
}

function either(words: readonly string[]): string {
  return words.length < 2 ? words.join() : `${words.slice(0, -1).join(", ")} or ${words[words.length - 1]}`;
}

/** What an address says that its view does not know, or in vain, in words; "" if there is nothing. */
export function unknown({ view, query, twice = [] }: Address): string {
  const known = PARAMETERS[view];
  // The token is the server's.
  const names = Object.keys(query).filter((name) => name !== "token" && !known.includes(name));
  const expected = known.length === 0 ? "this view has none" : `expected ${known.join(", ")}`;
  const said = twice.map((name) => `The address has “${name}” twice: the last one counts`);
  if (names.length > 0) said.push(`The address has ${names.map((name) => `“${name}”`).join(", ")}, which makes no difference here: ${expected}`);
  for (const [name, words] of Object.entries(WORDS)) {
    const wrong = known.includes(name) && wrongWord(name, query[name], words);
    if (wrong) said.push(wrong);
  }
  if (view === "network" && !query.replay) {
    const idle = (["measure", "kind"] as const).filter((name) => query[name] !== undefined).map((name) => `“${name}”`);
    if (idle.length > 0) said.push(`${idle.join(" and ")} ${idle.length > 1 ? "make" : "makes"} no difference without “replay”, a recorded run`);
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

/** A whole number that is less than a count, or null. */
export function numberBelow(value: string | undefined, count: number): number | null {
  const number = whole(value);
  return number !== null && number < count ? number : null;
}

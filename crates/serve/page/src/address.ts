// What a view shows, as an address that can be sent to a colleague.

export const VIEWS = ["home", "network", "replay", "deadlock", "plan", "curves", "sweeps"] as const;
export type ViewName = (typeof VIEWS)[number];

export interface Address {
  view: ViewName;
  query: Query;
}

export type Query = Readonly<Record<string, string>>;

/** The address of a location; unknown paths are home. */
export function parse(path: string, search: string): Address {
  const name = path.replace(/^\/+|\/+$/g, "");
  const view = (VIEWS as readonly string[]).includes(name) ? (name as ViewName) : "home";
  const query: Record<string, string> = {};
  for (const [key, value] of new URLSearchParams(search)) query[key] = value;
  return { view, query };
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

// What was measured of the channels of a run.

import { figure, percent } from "./dom.ts";
import type { ReplayHeader } from "./api.ts";

export const MEASURES = ["use", "held", "blocked", "waited", "flits", "worms"] as const;
export type Measure = (typeof MEASURES)[number];

export const KINDS = ["all", "multicast", "unicast"] as const;
export type Kind = (typeof KINDS)[number];

export const MEASURE_NAMES: Record<Measure, string> = {
  use: "Busy",
  held: "Held",
  blocked: "Blocked",
  waited: "Waited for",
  flits: "Flits",
  worms: "Worms",
};

/** What a measurement of a run says, in a sentence. */
export function wordsOf(measure: Measure, { settings }: ReplayHeader): string {
  const count = settings.virtual_channels ?? 1;
  if (count > 1 && measure === "held") return `cycles in which worms hold its ${count} virtual channels, added up, as a share of all cycles: at most ${100 * count}%`;
  if (count > 1 && measure === "blocked") return `the same sum as for held (its ${count} virtual channels), less the cycles in which a flit crosses: at most ${100 * count}%`;
  return MEASURE_WORDS[measure];
}

const MEASURE_WORDS: Record<Measure, string> = {
  use: "share of all cycles in which a flit crosses the channel",
  held: "share of all cycles in which a worm holds the channel, whether flits move or not",
  blocked: "share of all cycles in which a worm holds the channel and no flit crosses it",
  waited: "cycles that worms waited for the channel before they got it, all worms together",
  flits: "flits that crossed the channel",
  worms: "worms that were granted the channel",
};

export function asMeasure(text: string | undefined): Measure {
  return (MEASURES as readonly string[]).includes(text ?? "") ? (text as Measure) : "use";
}

export function asKind(text: string | undefined): Kind {
  return (KINDS as readonly string[]).includes(text ?? "") ? (text as Kind) : "all";
}

/** The measurement of one channel. */
export function valueOf(header: ReplayHeader, measure: Measure, kind: Kind, channel: number): number {
  const all = (name: "flits" | "held" | "waited" | "worms"): number => {
    const [every, multicast] = [header.measures[name][channel], header.measures.multicast[name][channel]];
    return kind === "all" ? every : kind === "multicast" ? multicast : every - multicast;
  };
  const cycles = Math.max(1, header.cycles);
  switch (measure) {
    case "use":
      return all("flits") / cycles;
    case "held":
      return all("held") / cycles;
    case "blocked":
      return Math.max(0, all("held") - all("flits")) / cycles;
    default:
      return all(measure);
  }
}

/** The measurement of all channels, those of nodes behind the links. */
export function values(header: ReplayHeader, measure: Measure, kind: Kind): Float64Array {
  return Float64Array.from(header.measures.flits, (_, channel) => valueOf(header, measure, kind, channel));
}

/** Shares of the largest measurement of a link, to colour them by. */
export function shades(measured: Float64Array, links: number): Float64Array {
  const ofLinks = measured.subarray(0, links);
  const most = maximum(ofLinks);
  return most > 0 ? ofLinks.map((value) => value / most) : ofLinks;
}

export function isShare(measure: Measure): boolean {
  return measure === "use" || measure === "held" || measure === "blocked";
}

/** As people read it. */
export function written(measure: Measure, value: number): string {
  return isShare(measure) ? percent(value) : figure(value);
}

/** The largest ones: ids of channels, largest first, equal ones in the order of ids. */
export function largest(measured: ArrayLike<number>, count: number): number[] {
  return Array.from({ length: measured.length }, (_, channel) => channel)
    .filter((channel) => measured[channel] > 0)
    .sort((a, b) => measured[b] - measured[a] || a - b)
    .slice(0, count);
}

export function maximum(measured: ArrayLike<number>): number {
  let most = 0;
  for (let i = 0; i < measured.length; i++) most = Math.max(most, measured[i]);
  return most;
}

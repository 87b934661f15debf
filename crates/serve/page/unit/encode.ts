// Writes chunks as docs/replay.md says, independently of what reads them.

export interface WrittenHop {
  channel: number;
  /** 0: the channel is written; else the exit's number, from 1. */
  exit?: number;
  /** Index of the hop before, or -1. */
  parent: number;
  granted: number;
  /** The last cycle in which it is held; null: at the end still. */
  released: number | null;
  flits: number;
}

export interface WrittenWorm {
  worm: number;
  message: number;
  from: number;
  source: number;
  destinations: number;
  length: number;
  generated: number;
  started: number | null;
  dead?: boolean;
  delivered: [node: number, cycle: number][];
  missing: number[];
  hops: WrittenHop[];
  waits: { hop: number | null; since: number; options?: number[] }[];
}

const zigzag = (value: number): number => (value >= 0 ? 2 * value : -2 * value - 1);

export function encode(worms: WrittenWorm[], cycles: number): Uint8Array {
  const bytes: number[] = [];
  const put = (value: number): void => {
    if (!Number.isInteger(value) || value < 0) throw new Error(`${value} cannot be written`);
    let rest = value;
    while (rest >= 128) {
      bytes.push((rest % 128) | 128);
      rest = Math.floor(rest / 128);
    }
    bytes.push(rest);
  };
  const before = <T>(list: T[], i: number, of: (item: T) => number): number => (i === 0 ? 0 : of(list[i - 1]));
  put(worms.length);
  worms.forEach((w, i) => put(w.worm - before(worms, i, (x) => x.worm)));
  worms.forEach((w, i) => put(zigzag(w.message - before(worms, i, (x) => x.message))));
  for (const w of worms) put(w.from);
  for (const w of worms) put(zigzag(w.source - w.from));
  for (const w of worms) put(w.destinations);
  for (const w of worms) put(w.length);
  worms.forEach((w, i) => put(zigzag(w.generated - before(worms, i, (x) => x.generated))));
  for (const w of worms) put(w.started === null ? 0 : 1 + zigzag(w.started - w.generated));
  for (const w of worms) put(w.dead ? 1 : 0);
  for (const w of worms) put(w.delivered.length);
  for (const w of worms) for (const [node] of w.delivered) put(node);
  for (const w of worms) for (const [, cycle] of w.delivered) put(cycle - w.generated);
  for (const w of worms) put(w.missing.length);
  for (const w of worms) for (const node of w.missing) put(node);
  for (const w of worms) put(w.hops.length);
  for (const w of worms) w.hops.forEach((hop, i) => put(hop.parent < 0 ? 0 : i - hop.parent));
  for (const w of worms) for (const hop of w.hops) put(hop.exit ?? 0);
  for (const w of worms) for (const hop of w.hops) if (!hop.exit) put(hop.channel);
  for (const w of worms) for (const hop of w.hops) put(zigzag(hop.granted - (hop.parent >= 0 ? w.hops[hop.parent].granted : (w.started ?? w.generated))));
  for (const w of worms) {
    for (const hop of w.hops) {
      const base = hop.parent >= 0 && w.hops[hop.parent].released !== null ? (w.hops[hop.parent].released as number) : hop.granted;
      put(hop.released === null ? 0 : 1 + zigzag(hop.released - base));
    }
  }
  for (const w of worms) for (const hop of w.hops) put(zigzag(hop.flits - (hop.parent >= 0 ? w.hops[hop.parent].flits : w.length)));
  const waits = worms.flatMap((w) => w.waits.map((wait) => ({ ...wait, w })));
  for (const w of worms) put(w.waits.length);
  for (const wait of waits) put(wait.hop === null ? 0 : 1 + wait.hop);
  for (const wait of waits) put(zigzag((wait.hop === null ? cycles : wait.w.hops[wait.hop].granted) - wait.since));
  for (const wait of waits) put(wait.options?.length ?? 0);
  let last = 0;
  for (const wait of waits) {
    for (const option of wait.options ?? []) {
      put(zigzag(option - last));
      last = option;
    }
  }
  return Uint8Array.from(bytes);
}

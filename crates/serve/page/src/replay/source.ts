// The chunks of a replay: fetched when they are needed, kept while there is room.

import { get, getBytes } from "../api.ts";
import type { ReplayHeader } from "../api.ts";
import { ChannelSpace, Network } from "../network.ts";
import { decode } from "./chunk.ts";
import type { Chunk, Context } from "./chunk.ts";

/** Where the bytes of chunks come from. */
export type Bytes = (index: number, signal?: AbortSignal) => Promise<Uint8Array>;

/** How much memory decoded chunks may take; the ones that are shown stay in any case. */
const ROOM = 160 * 1024 * 1024;
/** Chunks that are fetched at the same time. */
const AT_ONCE = 4;

export async function inflate(bytes: Uint8Array, size: number): Promise<Uint8Array> {
  const result = new Uint8Array(size);
  let at = 0;
  const stream = new Blob([bytes as BlobPart]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    if (at + value.length > size) throw new Error("a chunk of the replay is larger than its header says");
    result.set(value, at);
    at += value.length;
  }
  if (at !== size) throw new Error("a chunk of the replay is smaller than its header says");
  return result;
}

/** What is wrong with the chunks of a file, or null. Where that cannot be found out, what shows them says why. */
export async function checked(file: string): Promise<string | null> {
  return get<{ damaged: string | null }>("/api/replay/check", { file }).then(({ damaged }) => damaged, () => null);
}

export class Replay {
  readonly header: ReplayHeader;
  readonly network: Network;
  readonly space: ChannelSpace;
  readonly #context: Context;
  readonly #bytes: Bytes;
  readonly #room: number;
  /** In the order in which they were last used. */
  readonly #kept = new Map<number, Chunk>();
  readonly #coming = new Map<number, Promise<Chunk>>();
  #memory = 0;
  #fetched = 0;

  constructor(header: ReplayHeader, bytes: Bytes, network = new Network(header.network), room = ROOM) {
    this.header = header;
    this.network = network;
    this.space = new ChannelSpace(network.links, network.data.nodes, header.ports.injection, header.ports.consumption);
    this.#context = { network, space: this.space, cycles: header.cycles };
    this.#bytes = bytes;
    this.#room = room;
  }

  static ofServer(file: string, header: ReplayHeader): Replay {
    return new Replay(header, (index, signal) => getBytes("/api/replay/chunk", { file, index }, signal));
  }

  /** A replay whose chunks are in the page, in base64. */
  static embedded(header: ReplayHeader, chunks: string[]): Replay {
    return new Replay(header, async (index) => Uint8Array.from(atob(chunks[index]), (character) => character.charCodeAt(0)));
  }

  /** What decoded chunks take at present, in bytes. */
  get memory(): number {
    return this.#memory;
  }

  get kept(): number {
    return this.#kept.size;
  }

  /** Bytes that were fetched so far. */
  get fetched(): number {
    return this.#fetched;
  }

  get cycles(): number {
    return this.header.cycles;
  }

  /** The chunks that have to be there to show cycle t. */
  neededAt(t: number): number[] {
    const needed: number[] = [];
    this.header.chunks.forEach((chunk, index) => {
      if (chunk.first_cycle <= t && t <= chunk.last_cycle) needed.push(index);
    });
    return needed;
  }

  /** The chunks for cycle t if all are there, else null. */
  at(t: number): Chunk[] | null {
    const chunks: Chunk[] = [];
    for (const index of this.neededAt(t)) {
      const chunk = this.#kept.get(index);
      if (!chunk) return null;
      chunks.push(chunk);
    }
    for (const chunk of chunks) this.#touch(chunk);
    return chunks;
  }

  #touch(chunk: Chunk): void {
    this.#kept.delete(chunk.index);
    this.#kept.set(chunk.index, chunk);
  }

  /** Fetches what cycle t needs. */
  async load(t: number): Promise<Chunk[]> {
    const needed = this.neededAt(t);
    const chunks = await Promise.all(needed.map((index) => this.chunk(index)));
    this.#tidy(new Set(needed));
    return chunks;
  }

  /** Fetches what lies around cycle t, the nearest first, while there is room, until it is asked for the surroundings of another cycle. */
  async surround(t: number): Promise<void> {
    const round = ++this.#round;
    const distance = ({ first_cycle, last_cycle }: ReplayHeader["chunks"][number]): number => Math.max(0, first_cycle - t, t - last_cycle);
    const order = this.header.chunks.map((chunk, index) => ({ index, away: distance(chunk), size: chunk.size })).sort((a, b) => a.away - b.away);
    for (const { index, size } of order) {
      // Decoded, a chunk is some eight times as large.
      if (this.#memory + 8 * size > this.#room) return;
      if (this.#kept.has(index)) continue;
      await this.chunk(index);
      // Whatever else the page has to do comes first.
      await new Promise((done) => setTimeout(done, 0));
      if (round !== this.#round) return;
    }
  }

  /** Ends what fetches surroundings. */
  end(): void {
    this.#round++;
  }

  #round = 0;

  async chunk(index: number): Promise<Chunk> {
    const kept = this.#kept.get(index);
    if (kept) {
      this.#touch(kept);
      return kept;
    }
    const coming = this.#coming.get(index);
    if (coming) return coming;
    const promise = this.#fetch(index);
    this.#coming.set(index, promise);
    try {
      const chunk = await promise;
      if (!this.#kept.has(index)) {
        this.#kept.set(index, chunk);
        this.#memory += chunk.memory;
      }
      return chunk;
    } finally {
      this.#coming.delete(index);
    }
  }

  async #fetch(index: number, signal?: AbortSignal): Promise<Chunk> {
    const bytes = await this.#bytes(index, signal);
    this.#fetched += bytes.length;
    try {
      return decode(index, await inflate(bytes, this.header.chunks[index].size), this.#context);
    } catch (error) {
      throw new Error(`the recorded run is damaged: chunk ${index}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  /** Forgets what was not used for longest, until there is room again. */
  #tidy(needed: ReadonlySet<number>): void {
    for (const [index, chunk] of this.#kept) {
      if (this.#memory <= this.#room) return;
      if (needed.has(index)) continue;
      this.#kept.delete(index);
      this.#memory -= chunk.memory;
    }
  }

  /** Visits every chunk, a few at a time; what is not kept is forgotten again. */
  async scan(visit: (chunk: Chunk) => void, progress: (done: number, of: number) => void, signal: AbortSignal): Promise<void> {
    const count = this.header.chunks.length;
    let next = 0;
    let done = 0;
    const work = async (): Promise<void> => {
      while (next < count) {
        signal.throwIfAborted();
        const index = next++;
        const chunk = this.#memory < this.#room ? await this.chunk(index) : (this.#kept.get(index) ?? (await this.#fetch(index, signal)));
        signal.throwIfAborted();
        visit(chunk);
        done++;
        progress(done, count);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  }
}

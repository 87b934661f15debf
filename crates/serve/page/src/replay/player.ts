// The replay: the network with its worms, the timeline, and the panel that says what they do.

import { changed, COLOURINGS, noSuch, numberBelow, numbersBelow, SPEEDS, whole } from "../address.ts";
import type { Colouring, Query } from "../address.ts";
import { button, checkbox, choice, complain, facts, figure, fill, h, icon, input, isTyped, refill, retext, select, swatch, table, unbroken } from "../dom.ts";
import type { Child } from "../dom.ts";
import { categories, ofMessage, onTheme, palette } from "../draw/colour.ts";
import { NetworkView } from "../draw/view.ts";
import type { Hit, Pen } from "../draw/view.ts";
import { asMeasure, KINDS, largest, MEASURE_NAMES, MEASURES, shades, values, valueOf, written } from "../measure.ts";
import { problem, section } from "../view.ts";
import { NEVER } from "./chunk.ts";
import type { Chunk } from "./chunk.ts";
import { Drawing, headerAt } from "./drawing.ts";
import type { Counts } from "./drawing.ts";
import { filterOf, hopOn, isActive, isMulticast } from "./filter.ts";
import type { Filter } from "./filter.ts";
import { askedFor, doing, holders, nextEvent, present, waitAt } from "./moment.ts";
import type { Replay } from "./source.ts";

/** What the page around a player does for it. */
export interface Around {
  set?(changes: Readonly<Record<string, string | number | null | undefined>>, replace: boolean): void;
  announce?(text: string): void;
}

/** The most rows of a list of worms. */
const ROWS = 60;
/** The most passages that a search keeps of a channel: those that took longest. */
const PASSAGES = 400;

interface Passage {
  message: number;
  worm: number;
  from: number;
  destinations: number;
  granted: number;
  /** The last cycle in which it is held, or of the run. */
  released: number;
  toEnd: boolean;
  waited: number;
}

interface Search {
  key: string;
  done: boolean;
  /** Why it could not look at all of the run. */
  error: string | null;
  multicasts: Passage[];
  unicasts: Passage[];
  counts: { multicast: { worms: number; messages: Set<number> }; unicast: { worms: number; messages: Set<number> } };
}

export class Player {
  readonly element: HTMLElement;
  readonly #replay: Replay;
  readonly #around: Around;
  readonly #view: NetworkView;
  readonly #drawing: Drawing;
  readonly #cycle: ReadonlySet<number>;
  readonly #buffer: number | null;
  #query: Query;
  #filter: Filter;
  #t = 0;
  #exactT = 0;
  #speed = 20;
  #playing = false;
  #last = 0;
  #frame = 0;
  #chunks: readonly Chunk[] = [];
  #loading = false;
  #wantsSome = false;
  #error: string | null = null;
  #counts: Counts | null = null;
  #counted = "";
  #panelDue = 0;
  #addressDue = 0;
  #aheadDue = 0;
  #search: Search | null = null;
  #searching: AbortController | null = null;
  #pendingWorm: AbortController | null = null;
  #ended = false;
  readonly #endTheme: () => void;

  // What is changed while it plays.
  readonly #slider = h("input", { type: "range", min: "0", step: "1", "aria-label": "Cycle" });
  readonly #cycleField = h("input", { type: "text", inputmode: "numeric", "aria-label": "Go to cycle", class: "cycle" });
  readonly #play = button(icon("play"), () => this.toggle(), { class: "play", "aria-label": "Play", title: "Play or pause (space)" });
  readonly #status = h("span", { class: "quiet", role: "status" });
  readonly #marks = h("div", { class: "marks", "aria-hidden": "true" });
  readonly #now = h("div", null);
  readonly #dead = h("div", null);
  readonly #bottleneck = h("div", null);
  readonly #follow = h("div", null);
  readonly #filters = h("div", null);
  readonly #list = h("div", null);

  constructor(replay: Replay, query: Query, around: Around) {
    this.#replay = replay;
    this.#around = around;
    this.#query = query;
    const { header } = replay;
    this.#drawing = new Drawing(replay.network, replay.space, header.settings.header_flits ?? 0);
    this.#cycle = new Set(header.deadlock?.cycle.map((worm) => worm.worm) ?? []);
    // Without a number, a buffer takes any worm as a whole.
    this.#buffer = header.settings.flits === "exact" ? (header.settings.buffer ?? Number.MAX_SAFE_INTEGER) : null;
    this.#filter = filterOf(query, replay.network, replay.space.size, header.counts);
    this.#view = new NetworkView(replay.network, {
      label: `A replay of ${header.algorithm} on ${header.topology}. The panel beside it says what its worms do.`,
      draw: (pen) => this.#draw(pen),
      describe: (hit) => this.#describe(hit),
      click: (hit, event) => this.#click(hit, event),
    });
    const last = this.#end;
    this.#slider.max = String(last);
    this.#slider.addEventListener("input", () => this.goTo(Number(this.#slider.value)));
    this.#cycleField.addEventListener("input", () => { this.#typing = true; });
    this.#cycleField.addEventListener("blur", () => { this.#typing = false; });
    this.#cycleField.addEventListener("change", () => {
      this.#typing = false;
      const cycle = this.#cycleOf(this.#cycleField.value);
      if (cycle === null) this.#refuseCycle(this.#cycleField.value);
      else {
        this.goTo(cycle);
        this.#backToStage();
      }
    });
    const controls = h(
      "div",
      { class: "controls" },
      h("div", { class: "buttons" },
        button(icon("before"), () => this.event(true), { "aria-label": "To the event before", title: "To the event before (shift and ←)" }),
        button(icon("back"), () => this.step(-1), { "aria-label": "One cycle back", title: "One cycle back (←)" }),
        this.#play,
        button(icon("next"), () => this.step(1), { "aria-label": "One cycle on", title: "One cycle on (→)" }),
        button(icon("event"), () => this.event(false), { "aria-label": "To the next event", title: "To the next event (shift and →)" })),
      h("label", { class: "inline" }, "cycle ", this.#cycleField, h("span", { class: "quiet" }, ` of ${figure(header.cycles)}`)),
      select("Speed", SPEEDS.map((speed) => ({ value: String(speed), text: `${figure(speed)} cycles/s` })), String(this.#speed), (value) => this.#setSpeed(Number(value))),
      this.#noCycle,
      this.#status,
    );
    this.element = h(
      "div",
      { class: "split replay" },
      h("div", { class: "stage" }, this.#view.element, h("div", { class: "transport" }, h("div", { class: "track" }, this.#slider, this.#marks), controls)),
      h("aside", { class: "panel", "aria-label": "What the worms do" }, this.#alarm, this.#now, this.#dead, this.#bottleneck, this.#follow, this.#filters, this.#list,
        h("p", { class: "quiet keys" }, "Space plays, ← and → step, with shift to the next event, Home and End jump, Esc follows no worm, + − 0 zoom.")),
    );
    if (header.deadlock) {
      const mark = h("span", { class: "mark" });
      mark.style.left = `${(100 * Math.min(header.deadlock.at, last)) / Math.max(1, last)}%`;
      this.#marks.append(mark);
    }
    this.element.addEventListener("keydown", (event) => {
      this.#entered = event.key === "Enter";
      const field = event.target;
      if (!(field instanceof HTMLInputElement) || field.type !== "text" || field.matches("[aria-invalid=true]")) return;
      // What is there already is no change.
      if (field === this.#cycleField ? !this.#typing : field.value === field.defaultValue) this.#backToStage();
    });
    this.element.addEventListener("keyup", () => { this.#entered = false; });
    this.#endTheme = onTheme(() => this.#showAll());
    this.update(query);
  }

  /** The last cycle that can be shown: a deadlock is found in the first that was not simulated. */
  get #end(): number {
    const { cycles, deadlock } = this.#replay.header;
    return Math.max(0, cycles - 1, deadlock?.at ?? 0);
  }

  /** A cycle that can be shown, with or without separators of thousands; else null. */
  #cycleOf(text: string): number | null {
    const digits = /^\s*\d{1,3}(,\d{3})*\s*$/.test(text) ? text.replace(/,/g, "") : text;
    const cycle = whole(digits.trim());
    return cycle !== null && cycle <= this.#end ? cycle : null;
  }

  /** After Enter in a field the keys are the replay's again. */
  #backToStage(): void {
    if (!this.#entered) return;
    this.#entered = false;
    this.#view.canvas.focus({ preventScroll: true });
  }

  /** Keeps what was asked for in its field, and says what is expected. */
  #refuseCycle(text: string): void {
    this.#cycleField.value = text;
    this.#cycleField.setAttribute("aria-invalid", "true");
    const why = `${noSuch("cycle", text.trim(), `expected a number from 0 to ${figure(this.#end)}`)}.`;
    this.#noCycle.textContent = why;
    this.#around.announce?.(why);
  }

  /** Says that the file is damaged, above everything else. */
  warn(what: string): void {
    this.#warning = what;
    this.#showStatus();
  }

  #warning: string | null = null;
  readonly #alarm = h("div", null);
  /** Whether Enter has just been pressed. */
  #entered = false;
  /** Whether somebody types a cycle and has not said it yet. */
  #typing = false;
  readonly #noCycle = h("span", { class: "missing" });

  /** The cycle that is shown. */
  get cycle(): number {
    return this.#t;
  }

  get playing(): boolean {
    return this.#playing;
  }

  end(): void {
    this.#ended = true;
    this.pause();
    this.#searching?.abort();
    this.#pendingWorm?.abort();
    window.clearTimeout(this.#panelDue);
    window.clearTimeout(this.#addressDue);
    window.clearTimeout(this.#aheadDue);
    this.#replay.end();
    this.#view.end();
    this.#endTheme();
  }

  update(query: Query): void {
    this.#wrong.clear();
    window.clearTimeout(this.#addressDue);
    this.#query = query;
    this.#filter = filterOf(query, this.#replay.network, this.#replay.space.size, this.#replay.header.counts);
    const cycle = query.cycle === undefined ? null : this.#cycleOf(query.cycle);
    const { deadlock, cycles } = this.#replay.header;
    this.#setTime(cycle ?? (deadlock ? deadlock.at : Math.floor(cycles / 3)));
    if (query.cycle !== undefined && cycle === null) this.#refuseCycle(query.cycle);
    this.#wantsSome = cycle === null && !deadlock && this.#filter.worm === null;
    const speed = SPEEDS.find((speed) => String(speed) === query.speed);
    if (speed !== undefined) this.#setSpeed(speed, false);
    this.#measures();
    this.#showAll();
    if (this.#filter.link !== null) this.#lookFor(this.#filter.link);
    if (this.#filter.worm !== null && cycle === null) void this.#findWorm(this.#filter.worm, false);
    this.#fetch();
  }

  #measures(): void {
    const { header } = this.#replay;
    if (this.#query.measure) {
      this.#view.colour(shades(values(header, asMeasure(this.#query.measure), this.#filter.kind), this.#replay.network.links));
    } else {
      this.#view.colour(null);
    }
  }

  #change(changes: Readonly<Record<string, string | number | null>>, replace = false): void {
    this.#query = changed(this.#query, changes);
    this.#filter = filterOf(this.#query, this.#replay.network, this.#replay.space.size, this.#replay.header.counts);
    this.#around.set?.({ cycle: this.#t, ...changes }, replace);
    if ("measure" in changes || "kind" in changes) this.#measures();
    this.#showAll();
    if (this.#filter.link !== null) this.#lookFor(this.#filter.link);
    this.#view.redraw();
  }

  // Time.

  goTo(cycle: number): void {
    this.#setTime(cycle);
    this.#fetch();
    this.#soon();
  }

  #setTime(cycle: number): void {
    this.#exactT = Math.max(0, Math.min(this.#end, cycle));
    this.#t = Math.floor(this.#exactT);
    this.#showCycle();
  }

  #showCycle(): void {
    this.#slider.value = String(this.#t);
    this.#slider.setAttribute("aria-valuetext", `cycle ${this.#t}`);
    if (this.#typing && !this.#playing) return;
    retext(this.#cycleField, this.#t.toLocaleString("en"));
    this.#cycleField.removeAttribute("aria-invalid");
    this.#noCycle.textContent = "";
  }

  /** Notes the cycle in the address when nothing has moved for a while: browsers limit how often that may be. */
  #soon(): void {
    window.clearTimeout(this.#addressDue);
    this.#addressDue = window.setTimeout(() => this.#around.set?.({ cycle: this.#t }, true), 300);
  }

  step(by: number): void {
    this.pause();
    this.goTo(this.#t + by);
    this.#around.announce?.(`Cycle ${this.#t}`);
  }

  event(backwards: boolean): void {
    this.pause();
    const next = nextEvent(this.#chunks, this.#replay.header.chunks, this.#t, backwards);
    if (next !== null) this.goTo(next);
    else this.goTo(backwards ? this.#t - 1 : this.#t + 1);
    this.#around.announce?.(`Cycle ${this.#t}`);
  }

  toggle(): void {
    if (this.#playing) this.pause();
    else this.play();
  }

  play(): void {
    if (this.#playing) return;
    if (this.#t >= this.#end) this.#setTime(0);
    this.#playing = true;
    this.#last = performance.now();
    this.#playButton();
    this.#frame = requestAnimationFrame((now) => this.#tick(now));
  }

  pause(): void {
    if (!this.#playing) return;
    this.#playing = false;
    cancelAnimationFrame(this.#frame);
    this.#playButton();
    if (!this.#ended) {
      this.#around.set?.({ cycle: this.#t }, true);
      this.#showAll();
    }
  }

  #playButton(): void {
    this.#play.replaceChildren(icon(this.#playing ? "pause" : "play"));
    this.#play.setAttribute("aria-label", this.#playing ? "Pause" : "Play");
    this.#play.classList.toggle("on", this.#playing);
  }

  #setSpeed(speed: number, note = true): void {
    this.#speed = speed;
    const field = this.element.querySelector<HTMLSelectElement>(".controls select");
    if (field) field.value = String(speed);
    if (note) this.#around.set?.({ speed }, true);
  }

  #tick(now: number): void {
    if (!this.#playing) return;
    const passed = Math.min(0.1, (now - this.#last) / 1000);
    this.#last = now;
    // The clock stands still while chunks are on their way.
    if (!this.#loading) this.#setTime(this.#exactT + passed * this.#speed);
    if (this.#t >= this.#end) {
      this.pause();
      this.#around.announce?.("The end of the run");
    }
    this.#fetch();
    if (this.#playing) this.#frame = requestAnimationFrame((next) => this.#tick(next));
  }

  /** Goes to where something is held, if nothing is in the network in a cycle that nobody asked for. True if it goes there. */
  #toSome(chunks: readonly Chunk[]): boolean {
    this.#wantsSome = false;
    let some = false;
    present(chunks, this.#t, () => { some = true; });
    if (some) return false;
    let next = Infinity;
    for (const chunk of chunks) for (const granted of chunk.granted) if (granted > this.#t) next = Math.min(next, granted);
    for (const { first_cycle } of this.#replay.header.chunks) if (first_cycle > this.#t) next = Math.min(next, first_cycle);
    if (next === Infinity) return false;
    this.#setTime(next);
    this.#fetch();
    return true;
  }

  /** Shows cycle t as soon as its chunks are there. */
  #fetch(): void {
    const there = this.#replay.at(this.#t);
    if (there) {
      if (this.#wantsSome && this.#toSome(there)) return;
      this.#chunks = there;
      this.#loading = false;
      this.#error = null;
      this.#view.redraw();
      this.#panelSoon();
      window.clearTimeout(this.#aheadDue);
      this.#aheadDue = window.setTimeout(() => void this.#replay.surround(this.#t).catch(() => undefined), 100);
      if (this.#playing) void this.#replay.load(Math.min(this.#t + this.#speed, this.#end)).catch(() => undefined);
      return;
    }
    if (this.#loading) return;
    this.#loading = true;
    this.#showStatus();
    const wanted = this.#t;
    this.#replay.load(wanted).then(
      () => {
        if (this.#ended) return;
        this.#loading = false;
        this.#fetch();
      },
      (error: unknown) => {
        if (this.#ended) return;
        this.#loading = false;
        this.#error = error instanceof Error ? error.message : String(error);
        this.pause();
        this.#showNow();
        this.#showList();
      },
    );
  }

  // The picture.

  #colouring(): Colouring {
    return COLOURINGS.find((name) => name === this.#query.colour) ?? "message";
  }

  #draw(pen: Pen): void {
    this.#counts = this.#drawing.draw(pen, { chunks: this.#chunks, t: this.#t, filter: this.#filter, colouring: this.#colouring(), cycle: this.#cycle, buffer: this.#buffer });
    this.#view.labels(pen);
    const counted = JSON.stringify(this.#counts);
    if (counted !== this.#counted) {
      this.#counted = counted;
      this.#panelSoon();
    }
    const canvas = this.#view.canvas;
    canvas.dataset.cycle = String(this.#t);
    canvas.dataset.worms = String(this.#counts.present);
  }

  #describe(hit: Hit): string[] | null {
    const { network, space, header } = this.#replay;
    if (hit.kind === "node") return [`node ${network.nodeLabel(hit.id)}`];
    if (hit.kind === "router") {
      const nodes = network.nodesOf(hit.id).map((node) => network.nodeLabel(node));
      return [`router ${network.routerLabel(hit.id)}`, ...(nodes.length > 0 && nodes.length <= 4 && nodes[0] !== network.routerLabel(hit.id) ? [`nodes ${nodes.join(", ")}`] : [])];
    }
    const lines = [network.linkLabel(hit.id)];
    const held = holders(this.#chunks, hit.id, this.#t);
    for (const { chunk, w, hop } of held) {
      lines.push(`held by worm ${chunk.worm[w]} (message ${chunk.message[w]}, ${isMulticast(chunk, w) ? "multicast" : "unicast"}) since ${figure(chunk.granted[hop])}`);
      const flits = this.#drawing.flits(chunk, w, this.#buffer);
      const place = flits ? flits.path.indexOf(hop) : -1;
      if (flits && place >= 0) {
        const inside = flits.held(place, this.#t);
        lines.push(`${inside === 1 ? "1 flit" : `${inside} flits`} in its buffer, ${flits.crossed(place, this.#t)} of ${flits.count} have crossed`);
      }
    }
    if (held.length === 0) lines.push("free");
    const waiting = this.#waitersOf([hit.id]);
    if (waiting.length > 0) lines.push(`${waiting.length === 1 ? "1 worm waits" : `${waiting.length} worms wait`} for it`);
    lines.push(`busy ${written("use", valueOf(header, "use", "all", hit.id))} of the run`);
    return space.links > hit.id ? lines : null;
  }

  #waitersOf(channels: readonly number[]): { chunk: Chunk; w: number; since: number }[] {
    const found: { chunk: Chunk; w: number; since: number }[] = [];
    present(this.#chunks, this.#t, (chunk, w) => {
      const wait = waitAt(chunk, w, this.#t);
      if (wait >= 0 && askedFor(chunk, wait).some((channel) => channels.includes(channel))) found.push({ chunk, w, since: chunk.since[wait] });
    });
    return found.sort((a, b) => a.since - b.since);
  }

  #click(hit: Hit | null, event: MouseEvent): void {
    if (hit?.kind === "link") {
      const [held] = holders(this.#chunks, hit.id, this.#t);
      if (held && !event.shiftKey) this.#change({ worm: held.chunk.worm[held.w] });
      else this.#change({ link: hit.id });
    } else if (hit?.kind === "router") {
      const [node] = this.#replay.network.nodesOf(hit.id);
      if (node !== undefined) this.#change({ node });
    } else if (hit?.kind === "node") {
      this.#change({ node: hit.id });
    } else if (this.#filter.worm !== null) {
      this.#change({ worm: null });
    }
  }

  /** Takes a worm into view, wherever in the run it is. */
  async #findWorm(worm: number, note: boolean): Promise<void> {
    for (const chunk of this.#chunks) {
      const w = indexOf(chunk, worm);
      if (w >= 0 && chunk.begin[w] <= this.#t && this.#t <= chunk.end[w]) return;
    }
    this.#pendingWorm?.abort();
    const controller = new AbortController();
    this.#pendingWorm = controller;
    let begin: number | null = null;
    try {
      await this.#replay.scan(
        (chunk) => {
          const w = indexOf(chunk, worm);
          if (w < 0) return;
          begin = chunk.begin[w] === NEVER ? chunk.generated[w] : chunk.begin[w];
          controller.abort();
        },
        () => undefined,
        controller.signal,
      );
    } catch {
      // Found, or given up.
    }
    if (this.#ended || this.#pendingWorm !== controller) return;
    if (begin === null) this.#error = `there is no worm ${worm} in this replay`;
    else {
      this.#error = null;
      this.goTo(begin);
      if (note) this.#around.announce?.(`Worm ${worm} starts in cycle ${begin}`);
    }
    this.#showAll();
  }

  // Which messages go through a channel.

  #lookFor(channel: number): void {
    const key = String(channel);
    if (this.#search?.key === key) return;
    this.#searching?.abort();
    const controller = new AbortController();
    this.#searching = controller;
    const search: Search = {
      key, done: false, error: null, multicasts: [], unicasts: [],
      counts: { multicast: { worms: 0, messages: new Set() }, unicast: { worms: 0, messages: new Set() } },
    };
    this.#search = search;
    const keep = (list: Passage[], passage: Passage): void => {
      list.push(passage);
      if (list.length >= 2 * PASSAGES) {
        list.sort(longest);
        list.length = PASSAGES;
      }
    };
    let shown = performance.now();
    this.#replay
      .scan(
        (chunk) => {
          for (let w = 0; w < chunk.worms; w++) {
            const hop = hopOn(chunk, w, channel);
            if (hop < 0) continue;
            let waited = 0;
            for (let wait = chunk.firstWait[w]; wait < chunk.firstWait[w + 1]; wait++) if (chunk.waitHop[wait] === hop) waited = chunk.granted[hop] - chunk.since[wait];
            const multicast = isMulticast(chunk, w);
            const counts = search.counts[multicast ? "multicast" : "unicast"];
            counts.worms++;
            counts.messages.add(chunk.message[w]);
            keep(multicast ? search.multicasts : search.unicasts, {
              message: chunk.message[w], worm: chunk.worm[w], from: chunk.source[w], destinations: chunk.destinations[w], granted: chunk.granted[hop], released: Math.min(chunk.released[hop], this.#end), toEnd: chunk.released[hop] === NEVER, waited,
            });
          }
        },
        (done, of) => {
          if (done < of && performance.now() - shown > 300) {
            shown = performance.now();
            this.#showBottleneck(`${done} of ${of} parts of the run looked at`);
          }
        },
        controller.signal,
      )
      .then(
        () => {
          for (const list of [search.multicasts, search.unicasts]) {
            list.sort(longest);
            list.length = Math.min(list.length, PASSAGES);
          }
          search.done = true;
          this.#showBottleneck();
          this.#around.announce?.(`${search.counts.multicast.messages.size} multicasts and ${search.counts.unicast.messages.size} unicasts go through it`);
        },
        (error: unknown) => {
          if (controller.signal.aborted) return;
          search.error = error instanceof Error ? error.message : String(error);
          if (this.#error === null && this.#warning === null) this.warn(search.error);
          this.#showBottleneck();
        },
      );
  }

  // The panel.

  #panelSoon(): void {
    if (this.#panelDue !== 0) return;
    this.#panelDue = window.setTimeout(() => {
      this.#panelDue = 0;
      this.#showNow();
      this.#showFollowed();
      this.#showList();
      this.#view.refreshTip();
    }, this.#playing ? 250 : 60);
  }

  #showAll(): void {
    if (this.#ended) return;
    this.#showStatus();
    this.#showNow();
    this.#showDead();
    this.#showBottleneck();
    this.#showFollowed();
    this.#showFilters();
    this.#showList();
  }

  #showStatus(): void {
    this.#status.textContent = this.#loading ? "loading …" : "";
    const alarm = this.#warning ?? this.#error;
    if ((this.#alarm.textContent ?? "") !== (alarm ?? "")) fill(this.#alarm, alarm === null ? null : problem(new Error(alarm)));
  }

  #showNow(): void {
    this.#showStatus();
    const counts = this.#counts;
    if (!counts) return;
    const cells: [string, number][] = [["worms here", counts.present], ["starting", counts.starting], ["moving", counts.moving], ["waiting", counts.waiting], ["multicast", counts.multicasts]];
    if (isActive(this.#filter)) cells.push(["looked at", counts.matching]);
    fill(this.#now, h("div", { class: "gauges" }, ...cells.map(([name, value]) => h("div", { class: "gauge" }, h("b", { "data-count": name }, this.#error === null ? figure(value) : "–"), h("span", null, name)))));
  }

  #showDead(): void {
    const { deadlock } = this.#replay.header;
    if (!deadlock) return;
    fill(
      this.#dead,
      h("section", { class: "part dead" },
        h("h2", null, `Deadlock in cycle ${figure(deadlock.at)}`),
        h("p", null, `${figure(deadlock.dead)} worms are dead; a cycle of them:`),
        h("ol", { class: "cycle-list" }, ...deadlock.cycle.map((worm) =>
          h("li", null,
            button(`worm ${worm.worm}`, () => this.#change({ worm: worm.worm }), { class: "plain strong", "data-worm": String(worm.worm) }),
            ` (message ${worm.message}) at ${worm.router} holds `, h("span", { class: "holds" }, unbroken(worm.holds, "; ")), " and waits for ", h("strong", { class: "waits" }, unbroken(worm.waits_for, "; "))))),
        h("div", { class: "row-of" },
          this.#t === Math.min(deadlock.at, this.#end) ? null : button("Go to the deadlock", () => { this.pause(); this.goTo(deadlock.at); this.#showAll(); }),
          button("How it came about", () => { this.#setSpeed(SPEEDS[2]); this.goTo(Math.max(0, this.#closing() - 60)); this.play(); }))),
    );
  }

  /** The cycle in which the deadlock's cycle closes: the last of its worms asks for what it never gets. */
  #closing(): number {
    const { dead, deadlock } = this.#replay.header;
    const times = dead.filter((worm) => this.#cycle.has(worm.worm)).map((worm) => worm.since ?? 0);
    return times.length > 0 ? Math.max(...times) : (deadlock?.at ?? 0);
  }

  #showBottleneck(progress?: string): void {
    const { header, network, space } = this.#replay;
    const measure = asMeasure(this.#query.by);
    const { link } = this.#filter;
    const parts: Child[] = [
      h("div", { class: "row-of" },
        button("Find the bottleneck", () => {
          const [worst] = largest(values(header, measure, "all"), 1);
          if (worst !== undefined) this.#change({ link: worst, kind: null, message: null, node: null });
        }, { class: "primary", "data-action": "bottleneck" }),
        select("by", MEASURES.map((value) => ({ value, text: MEASURE_NAMES[value].toLowerCase() })), measure, (value) => {
          const [worst] = largest(values(header, asMeasure(value), "all"), 1);
          this.#change(link !== null && worst !== undefined ? { by: value, link: worst } : { by: value });
        })),
    ];
    if (link !== null) {
      parts.push(
        h("h3", { "data-link": String(link) }, space.label(network, link)),
        table(`What was measured of ${space.label(network, link)}`, [{ name: "" }, ...KINDS.map((kind) => ({ name: kind, numeric: true }))],
          MEASURES.map((value) => [MEASURE_NAMES[value].toLowerCase(), ...KINDS.map((kind) => written(value, valueOf(header, value, kind, link)))]), { class: "numbers" }),
      );
      const search = this.#search;
      if (search?.key === String(link) && (search.done || progress)) {
        if (progress) parts.push(h("p", { class: "quiet", role: "status" }, progress));
        if (search.done) {
          for (const kind of ["multicast", "unicast"] as const) {
            const { worms, messages } = search.counts[kind];
            const list = kind === "multicast" ? search.multicasts : search.unicasts;
            const open = kind === "multicast" ? search.multicasts.length > 0 : search.multicasts.length === 0;
            parts.push(
              h("details", { open: open && list.length > 0, class: "messages", "data-kind": kind },
                h("summary", null, h("b", null, `${figure(messages.size)} ${messages.size === 1 ? kind : `${kind}s`}`), ` through it${worms === messages.size ? "" : `, ${figure(worms)} worms`}`),
                list.length === 0 ? null : h("p", { class: "quiet" }, `${worms > ROWS ? `The ${ROWS} that` : "Those that"} held it longest come first.`),
                list.length === 0 ? null : table(`${kind}s through ${space.label(network, link)}`,
                  [{ name: "message" }, { name: "from" }, { name: "to", numeric: true }, { name: "got it in", numeric: true }, { name: "held", numeric: true }, { name: "waited", numeric: true }],
                  list.slice(0, ROWS).map((passage) => [
                    this.#mark(passage.message, passage.worm, () => { this.pause(); this.#setTime(passage.granted); this.#fetch(); this.#change({ worm: passage.worm }); }),
                    network.nodeLabel(passage.from), figure(passage.destinations), figure(passage.granted),
                    `${figure(passage.released - passage.granted + 1)}${passage.toEnd ? ", to the end" : ""}`, figure(passage.waited)]))));
          }
        }
      } else {
        // Why not stands above.
        parts.push(this.#search?.error ? h("p", { class: "quiet" }, "Which messages go through it is not known.") : h("p", { class: "quiet", role: "status" }, "Looking for its messages …"));
      }
    }
    refill(this.#bottleneck, section("Bottleneck", ...parts));
  }

  #mark(message: number, worm: number, onclick: () => void): HTMLElement {
    return h("span", { class: "marked" }, swatch(categories()[ofMessage(message)]), button(`${message}`, onclick, { class: "plain", "aria-label": `Follow worm ${worm} of message ${message}`, title: `worm ${worm}` }));
  }

  #followedWorm(): { chunk: Chunk; w: number } | null {
    if (this.#filter.worm === null) return null;
    for (const chunk of this.#chunks) {
      const w = indexOf(chunk, this.#filter.worm);
      if (w >= 0) return { chunk, w };
    }
    return null;
  }

  #showFollowed(): void {
    const { worm } = this.#filter;
    if (worm === null) {
      this.#follow.replaceChildren();
      return;
    }
    const found = this.#followedWorm();
    const leave = button("×", () => this.#change({ worm: null }), { class: "close", "aria-label": "Do not follow it any more" });
    if (!found) {
      fill(this.#follow, h("section", { class: "part follow" }, h("h2", null, `Worm ${worm} `, leave), h("p", { class: "quiet" }, "It is not in the network in this cycle."), button("Go to its start", () => void this.#findWorm(worm, true))));
      return;
    }
    const { chunk, w } = found;
    const { network, space } = this.#replay;
    const t = this.#t;
    const what = doing(chunk, w, t);
    const at = headerAt(chunk, w, t, network, space);
    const flits = this.#drawing.flits(chunk, w, this.#buffer);
    const wait = waitAt(chunk, w, t);
    const rows: Child[][] = [];
    for (let hop = chunk.firstHop[w]; hop < chunk.firstHop[w + 1]; hop++) {
      const now = chunk.granted[hop] <= t && t <= chunk.released[hop];
      const place = flits ? flits.path.indexOf(hop) : -1;
      const label = h("span", { class: now ? "held" : chunk.granted[hop] > t ? "future" : "past" }, space.label(network, chunk.channel[hop]));
      rows.push([label, figure(chunk.granted[hop]), chunk.released[hop] === NEVER ? "–" : figure(chunk.released[hop]), now ? (flits && place >= 0 && space.kind(chunk.channel[hop]) === "link" ? String(flits.held(place, t)) : "held") : ""]);
    }
    const entries: [string, Child | Child[]][] = [
      ["message", [this.#mark(chunk.message[w], worm, () => this.#change({ message: chunk.message[w] })), ` ${isMulticast(chunk, w) ? `multicast to ${chunk.destinations[w]}` : "unicast"}, ${figure(chunk.length[w])} flits`]],
      ["from", network.nodeLabel(chunk.from[w]) + (chunk.source[w] !== chunk.from[w] ? ` (message from ${network.nodeLabel(chunk.source[w])})` : "")],
      ["generated", figure(chunk.generated[w])],
      ["started", figure(chunk.started[w])],
      ["now", h("strong", { "data-doing": what }, what === "waits" ? `waits since ${figure(chunk.since[wait])}` : what)],
    ];
    if (at !== null && what !== "done") entries.push(["header at", network.routerLabel(at)]);
    const blocked: Child[] = [];
    if (wait >= 0) {
      const asked = this.#asked(chunk, wait);
      blocked.push(h("p", { class: "blocked" }, "It waits for ", h("strong", null, this.#wants(chunk, wait)), "."));
      const stand = new Map<number, [Chunk, number]>();
      for (const channel of asked) for (const holder of this.#holdersOf(channel)) stand.set(holder.chunk.worm[holder.w], [holder.chunk, holder.w]);
      stand.delete(worm);
      if (stand.size > 0) blocked.push(h("p", null, "Held by ", ...[...stand.entries()].slice(0, 8).flatMap(([id], i) => [i > 0 ? ", " : "", button(`worm ${id}`, () => this.#change({ worm: id }), { class: "plain strong" })]), "."));
    }
    const reached: string[] = [];
    for (let d = chunk.firstDelivery[w]; d < chunk.firstDelivery[w + 1]; d++) reached.push(`${network.nodeLabel(chunk.deliveredTo[d])} in cycle ${figure(chunk.delivered[d])}`);
    if (reached.length > 0) entries.push(["delivers to", reached.join("; ")]);
    const missing: string[] = [];
    for (let d = chunk.firstMissing[w]; d < chunk.firstMissing[w + 1]; d++) missing.push(network.nodeLabel(chunk.missing[d]));
    if (missing.length > 0) entries.push([chunk.dead[w] ? "never reaches" : "not yet at the end", missing.join("; ")]);
    const open = this.#follow.querySelector("details")?.open ?? false;
    fill(
      this.#follow,
      h("section", { class: "part follow" },
        h("h2", null, `Worm ${worm} `, leave),
        facts(entries), ...blocked,
        this.#lifetime(chunk, w),
        h("details", { open }, h("summary", null, `${rows.length} channels`),
          table(`Channels of worm ${worm}`, [{ name: "channel" }, { name: "got", numeric: true }, { name: "left", numeric: true }, { name: flits ? "flits" : "now", numeric: true }], rows)),
        flits ? null : h("p", { class: "quiet" }, "Where its single flits are has no closed form here, so only what it holds is shown.")),
    );
  }

  /** What a worm asks for, as the command lists it: consumption channels first. */
  #asked(chunk: Chunk, wait: number): number[] {
    const asked = askedFor(chunk, wait);
    const consumes = (channel: number): boolean => this.#replay.space.kind(channel) === "consumption";
    return [...asked.filter(consumes), ...asked.filter((channel) => !consumes(channel))];
  }

  /** The names of what is asked for: of a node's channels, any will do. */
  #wants(chunk: Chunk, wait: number): string {
    const { network, space } = this.#replay;
    const names = this.#asked(chunk, wait).map((channel) => {
      const kind = space.kind(channel);
      return kind === "link" ? network.linkLabel(channel) : `${kind} ${network.nodeLabel(space.node(channel))}`;
    });
    return [...new Set(names)].join(", ");
  }

  /** Who has a channel; of a pool of consumption channels, all who have one of the node's. */
  #holdersOf(channel: number): { chunk: Chunk; w: number }[] {
    const { space } = this.#replay;
    if (space.kind(channel) !== "consumption") return holders(this.#chunks, channel, this.#t);
    const node = space.node(channel);
    return Array.from({ length: space.consumption }, (_, port) => holders(this.#chunks, space.consumptionOf(node, port), this.#t)).flat();
  }

  /** The channels of a worm over time: bars from grant to release, waits between them. */
  #lifetime(chunk: Chunk, w: number): Element | null {
    const [first, last] = [chunk.firstHop[w], chunk.firstHop[w + 1]];
    if (first === last) return null;
    const begin = chunk.begin[w];
    const end = Math.min(this.#replay.cycles, Number.isFinite(chunk.end[w]) ? chunk.end[w] : this.#replay.cycles);
    const rows = last - first;
    const canvas = h("canvas", { class: "lifetime", role: "img", "aria-label": `The ${rows} channels of the worm over the cycles ${begin} to ${end}` });
    const width = 300;
    const height = Math.max(36, Math.min(150, rows * 6));
    canvas.width = 2 * width;
    canvas.height = 2 * height;
    canvas.style.aspectRatio = `${width} / ${height}`;
    const pen = canvas.getContext("2d");
    if (!pen) return null;
    pen.scale(2, 2);
    const colours = palette();
    const x = (cycle: number): number => ((Math.min(cycle, end) - begin) / Math.max(1, end - begin)) * (width - 2) + 1;
    const pitch = height / rows;
    const colour = categories()[ofMessage(chunk.message[w])];
    pen.fillStyle = colours.wire;
    for (let wait = chunk.firstWait[w]; wait < chunk.firstWait[w + 1]; wait++) {
      const until = chunk.waitHop[wait] < 0 ? end : chunk.granted[chunk.waitHop[wait]];
      pen.fillStyle = colours.dead;
      pen.globalAlpha = 0.25;
      pen.fillRect(x(chunk.since[wait]), 0, Math.max(1, x(until) - x(chunk.since[wait])), height);
    }
    pen.globalAlpha = 1;
    pen.fillStyle = colour;
    for (let hop = first; hop < last; hop++) {
      const to = Math.min(end, chunk.released[hop] + 1);
      pen.fillRect(x(chunk.granted[hop]), (hop - first) * pitch + 0.15 * pitch, Math.max(1, x(to) - x(chunk.granted[hop])), 0.7 * pitch);
    }
    if (this.#t >= begin && this.#t <= end) {
      pen.fillStyle = colours.text;
      pen.fillRect(x(this.#t) - 0.75, 0, 1.5, height);
    }
    canvas.addEventListener("click", (event) => {
      this.pause();
      this.goTo(Math.round(begin + (event.offsetX / canvas.clientWidth) * (end - begin)));
    });
    return h("figure", { class: "life" }, canvas, h("figcaption", { class: "quiet" }, h("span", null, figure(begin)), h("span", null, "its channels, each held as long as its bar; it waits where it is shaded"), h("span", null, figure(end))));
  }

  readonly #wrong = new Map<string, string>();

  #showFilters(): void {
    if (isTyped(this.#filters)) return;
    const { network, space } = this.#replay;
    const { kind, message, worm, node, link } = this.#filter;
    // What cannot be stays in its field, with what is expected; the address keeps what can be.
    const field = (label: string, key: "worm" | "message" | "node" | "link", shown: string, read: (text: string) => number | null, there: string, props: Record<string, unknown>): HTMLElement => {
      const given = this.#query[key];
      const complaint = (text: string): string => `${noSuch(label.toLowerCase(), text, there)}.`;
      const wrong = this.#wrong.get(key) ?? (given !== undefined && this.#filter[key] === null ? given : undefined);
      const made = input(label, wrong ?? shown, (text) => {
        const value = text === "" ? null : read(text);
        if (text !== "" && value === null) this.#wrong.set(key, text);
        else this.#wrong.delete(key);
        if (text !== "" && value === null) {
          this.#around.announce?.(complaint(text));
          this.#showFilters();
          return;
        }
        this.#change({ [key]: value });
        if (key === "worm" && value !== null) void this.#findWorm(value, true);
        this.#backToStage();
      }, props);
      return wrong === undefined ? made : complain(made, complaint(wrong));
    };
    const below = (count: number) => (text: string): number | null => numberBelow(text, count);
    const { counts } = this.#replay.header;
    const numeric = { inputmode: "numeric", placeholder: "number" };
    const nodes = network.data.nodes;
    refill(
      this.#filters,
      section(
        "Show",
        choice("Messages", KINDS.map((value) => ({ value, text: value === "all" ? "all" : `${value}s` })), kind, (value) => this.#change({ kind: value === "all" ? null : value })),
        h("div", { class: "fields" },
          field("Worm", "worm", worm === null ? "" : String(worm), below(counts.worms), numbersBelow("worm", counts.worms, "run"), numeric),
          field("Message", "message", message === null ? "" : String(message), below(counts.messages), numbersBelow("message", counts.messages, "run"), numeric),
          field("Node", "node", node === null ? "" : network.nodeLabel(node), (text) => network.findNode(text), `expected a node from ${network.nodeLabel(0)} to ${network.nodeLabel(nodes - 1)}`, { placeholder: network.nodeLabel(0) }),
          field("Channel", "link", link === null ? "" : space.label(network, link), (text) => network.findLink(text) ?? below(space.size)(text), `${numbersBelow("channel", space.size, "network")}${network.links > 0 ? `, or ends such as ${network.linkLabel(0)}` : ""}`, { placeholder: network.links > 0 ? network.linkLabel(0) : "" })),
        select("Colours", [{ value: "message", text: "a message each" }, { value: "kind", text: "multicast or unicast" }, { value: "state", text: "moving or waiting" }], this.#colouring(), (value) => this.#change({ colour: value === "message" ? null : value })),
        this.#legend(),
        checkbox("Channels below by how busy they are", this.#query.measure !== undefined, (on) => this.#change({ measure: on ? "use" : null })),
        isActive(this.#filter) || worm !== null ? button("Show everything", () => this.#change({ kind: null, message: null, worm: null, node: null, link: null })) : null,
      ),
    );
  }

  #legend(): HTMLElement | null {
    const colours = categories();
    const pairs: [string, string][] = this.#colouring() === "kind" ? [[colours[0], "multicast"], [colours[1], "unicast"]] : this.#colouring() === "state" ? [[colours[0], "moving"], [colours[1], "waiting"]] : [];
    if (this.#replay.header.deadlock) pairs.push([palette().dead, "the deadlock’s cycle"]);
    return pairs.length === 0 ? null : h("div", { class: "keyed" }, ...pairs.map(([colour, text]) => h("span", null, swatch(colour), text)));
  }

  #showList(): void {
    const rows: { chunk: Chunk; w: number; wait: number }[] = [];
    const others: { chunk: Chunk; w: number }[] = [];
    present(this.#chunks, this.#t, (chunk, w) => {
      const matching = !isActive(this.#filter) || this.#drawing.matching(this.#filter, chunk)[w] === 1;
      const wait = waitAt(chunk, w, this.#t);
      if (matching && wait >= 0) rows.push({ chunk, w, wait });
      else if (matching) others.push({ chunk, w });
    });
    rows.sort((a, b) => a.chunk.since[a.wait] - b.chunk.since[b.wait] || a.chunk.worm[a.w] - b.chunk.worm[b.w]);
    const { network, space } = this.#replay;
    const open = this.#list.querySelector("details")?.open ?? false;
    const scrolled = this.#list.querySelector(".scroll")?.scrollTop ?? 0;
    if (this.#list.contains(document.activeElement) && document.activeElement instanceof HTMLButtonElement && this.#playing) return;
    fill(
      this.#list,
      section(
        isActive(this.#filter) ? "Who waits, of those looked at" : "Who waits",
        this.#error !== null
          ? h("p", { class: "quiet" }, "Not known of this cycle.")
          : rows.length === 0
          ? h("p", { class: "quiet" }, isActive(this.#filter) ? "None of the worms that are looked at waits in this cycle." : "No worm waits in this cycle.")
          : table(isActive(this.#filter) ? "Worms that are looked at and wait, the longest first" : "Worms that wait, the longest first", [{ name: "message" }, { name: "waits for" }, { name: "for", numeric: true }],
              rows.slice(0, ROWS).map(({ chunk, w, wait }) => [
                this.#mark(chunk.message[w], chunk.worm[w], () => this.#change({ worm: chunk.worm[w] })),
                this.#wants(chunk, wait),
                figure(this.#t - chunk.since[wait])])),
        rows.length > ROWS ? h("p", { class: "quiet" }, `and ${figure(rows.length - ROWS)} more`) : null,
        this.#error !== null || others.length === 0 ? null : h("details", { open, class: "others" },
          h("summary", null, `${figure(others.length)} ${others.length === 1 ? "worm does" : "worms do"} not wait`),
          table("Worms that do not wait", [{ name: "message" }, { name: "now" }, { name: "header at" }],
            others.slice(0, ROWS).map(({ chunk, w }) => {
              const at = headerAt(chunk, w, this.#t, network, space);
              return [this.#mark(chunk.message[w], chunk.worm[w], () => this.#change({ worm: chunk.worm[w] })), doing(chunk, w, this.#t), at === null ? "–" : network.routerLabel(at)];
            })),
          others.length > ROWS ? h("p", { class: "quiet" }, `and ${figure(others.length - ROWS)} more`) : null),
      ),
    );
    const list = this.#list.querySelector(".scroll");
    if (list) list.scrollTop = scrolled;
  }

  key(event: KeyboardEvent): boolean {
    switch (event.key) {
      case " ":
        this.toggle();
        return true;
      case "ArrowRight":
      case "ArrowLeft": {
        const backwards = event.key === "ArrowLeft";
        if (event.shiftKey) this.event(backwards);
        else this.step(backwards ? -1 : 1);
        return true;
      }
      case "Home":
        this.pause();
        this.goTo(0);
        return true;
      case "End":
        this.pause();
        this.goTo(this.#end);
        return true;
      case "Escape":
        if (this.#filter.worm === null) return false;
        this.#change({ worm: null });
        return true;
      default:
        return false;
    }
  }

}

function longest(a: Passage, b: Passage): number {
  const held = (passage: Passage): number => passage.released - passage.granted;
  const [x, y] = [held(a), held(b)];
  return x === y ? a.granted - b.granted || a.worm - b.worm : y - x;
}

/** Where a worm is among those of a chunk, or -1; they are in the order of their ids. */
function indexOf(chunk: Chunk, worm: number): number {
  let [low, high] = [0, chunk.worms];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (chunk.worm[middle] < worm) low = middle + 1;
    else high = middle;
  }
  return low < chunk.worms && chunk.worm[low] === worm ? low : -1;
}

// Which worms a multicast sends: a source and destinations by clicks, algorithms side by side.

import { changed, format, list, noSuch, wrongName, wrongWord } from "../address.ts";
import type { Query } from "../address.ts";
import { get, isAborted } from "../api.ts";
import type { Catalogue, NetworkData, Plan } from "../api.ts";
import { button, choice, figure, fill, h, input, isTyped, refill, select, swatch, table } from "../dom.ts";
import type { Child, Option } from "../dom.ts";
import { categories, palette } from "../draw/colour.ts";
import { NetworkView } from "../draw/view.ts";
import type { Hit, Pen } from "../draw/view.ts";
import { Network } from "../network.ts";
import { awaiting, giveUp, link, problem } from "../view.ts";
import type { Page, View } from "../view.ts";
import { algorithmsFor, catalogue, topologyField } from "./choosing.ts";

/** How many algorithms stand side by side, at most. */
const MOST = 9;
/** Those that stand there before others if the address names none. */
const LIKED = ["dual-path", "pure-negative-first", "column-path", "dstm-1", "spam", "combine", "w-sort", "bit-string", "u-min"];

type Mode = "destinations" | "source" | "fail";

/** What a click does where there is no plan yet. */
const HINTS: Record<Mode, string> = {
  destinations: "Click a router to make it a destination.",
  source: "Click a router to make it the source. There is no destination yet.",
  fail: "Click a link to fail it, or a failed one to mend it. There is no destination yet.",
};

/** How many of the things that are dropped are named, at most. */
const NAMED = 6;

interface Card {
  algorithm: string;
  element: HTMLElement;
  head: HTMLElement;
  below: HTMLElement;
  view: NetworkView;
  plan: Plan | null;
  verdict: boolean | null | undefined;
  error: string | null;
  asking: AbortController | null;
}

export function plan(page: Page, first: Query): View {
  let query = first;
  let all: Catalogue | null = null;
  let network: Network | null = null;
  let loaded = "";
  let mode: Mode = "destinations";
  let worm: number | null = null;
  /** The kind of the network that was left for another, until that one is there; "" if it is not known. */
  let left: string | null = null;
  const cards = new Map<string, Card>();
  const bar = h("div", { class: "bar" });
  const compare = h("div", { class: "compare" });
  const board = h("div", { class: "board" });
  const news = h("p", { class: "quiet", hidden: true });
  /** Says errors to screen readers, each once, however many algorithms have it. */
  const alarm = h("div", { class: "unseen", role: "alert", "aria-atomic": "false" });
  const element = h("div", { class: "planner" }, bar, news, alarm, compare, board);

  const topology = (): string => query.topology ?? "mesh:8x8";
  const fitting = (): Option[] => (all && network ? algorithmsFor(all, network.data.shape, network.data.size) : []);
  /** Those that are named, or else some that the network takes. */
  const algorithms = (): string[] => {
    if (query.algorithms !== undefined) return list(query.algorithms).slice(0, MOST);
    const names = fitting().map((option) => option.value);
    const liked = LIKED.filter((name) => names.includes(name));
    return (liked.length > 0 ? liked : names).slice(0, 3);
  };
  const source = (): string => query.source ?? network?.nodeLabel(0) ?? "";
  /** A node as it is labelled, however it was written. */
  const labelled = (text: string): string => {
    const node = network?.findNode(text) ?? null;
    return node === null || !network ? text : network.nodeLabel(node);
  };
  const destinations = (): string[] => list(query.destinations, ";").map(labelled);
  const failed = (): string[] => list(query.failed, ";");

  /** That the address names more algorithms than there is room for; "" if not. */
  const tooMany = (): string => {
    const given = list(query.algorithms).length;
    return given > MOST ? `The address has ${given} algorithms: ${MOST} stand side by side at most, and these are the first ones` : "";
  };
  /** What is wrong with values that no algorithm is asked to take, as they would say themselves. */
  const unasked = (wanted: readonly string[]): string[] => {
    const routing = all && !wanted.some(routingOf) ? [wrongName("routing", query.routing, all.routings.map(({ name }) => name))] : [];
    if (!network || (wanted.length > 0 && destinations().length > 0)) return routing;
    const net = network;
    const wrong = (what: string, given: readonly string[], isThere: (item: string) => boolean, expected: string): string[] =>
      given.filter((item) => !isThere(item)).map((item) => noSuch(what, item, `expected ${expected}`));
    return [
      ...routing,
      ...wrong("node", query.source ? [query.source] : [], (name) => net.findNode(name) !== null, `one such as ${net.nodeLabel(0)}`),
      ...wrong("link", failed(), (ends) => net.linksBetween([ends]).length > 0, "two routers that are joined, with a hyphen between them"),
      wrongWord("ports", query.ports, ["one", "all"]),
      query.seed && !/^\d+$/.test(query.seed) ? `\`seed\` cannot be “${query.seed}”: expected a whole number` : "",
    ];
  };

  /** The routing that is chosen, for algorithms that leave a choice. */
  const routingOf = (algorithm: string): string => (all?.algorithms.some(({ name, routing }) => name === algorithm && routing === null) && query.routing) || "";

  /** The seed, for algorithms that may draw: by themselves, or by the routing that is chosen. If none does, they say that it makes no difference. */
  const seedOf = (algorithm: string): string | undefined => {
    const draws = (name: string): boolean => routingOf(name) !== "" || (all?.algorithms.some((entry) => entry.name === name && entry.draws) ?? false);
    return draws(algorithm) || !algorithms().some(draws) ? query.seed : undefined;
  };

  const change = (changes: Record<string, string | number | null>): void => {
    query = changed(query, changes);
    hush();
    page.set(changes);
    load();
  };

  /** What was said is of what was there before. */
  const hush = (): void => {
    news.hidden = true;
    alarm.replaceChildren();
  };

  /** Keeps what a network that was chosen has as well as the one before, and says what it drops. */
  const move = (): void => {
    if (left === null || !network || !all) return;
    const net = network;
    const names = fitting().map((option) => option.value);
    const isAlike = left === "" || left === kindOf(net);
    left = null;
    const changes: Record<string, string | null> = {};
    const dropped: Child[] = [];
    const keep = (key: string, separator: string, word: string, isThere: (item: string) => boolean): void => {
      const items = list(query[key], separator);
      const gone = items.filter((item) => !isThere(item));
      if (gone.length === 0) return;
      dropped.push(dropped.length > 0 ? "; " : "", `${word}${gone.length === 1 ? "" : "s"} `, ...named(gone));
      changes[key] = items.filter(isThere).join(separator) || null;
    };
    keep("algorithms", ",", "algorithm", (name) => names.includes(name));
    // What a routing needs is not known here; what a network of the same kind took, another one does, or the algorithms say why not.
    keep("routing", ",", "routing", () => isAlike);
    keep("source", ";", "source", (name) => net.findNode(name) !== null);
    keep("destinations", ";", "destination", (name) => name.trim() === "all" || net.findNode(name) !== null);
    keep("failed", ";", "failed link", (ends) => net.linksBetween([ends]).length > 0);
    if (dropped.length === 0) return;
    query = changed(query, changes);
    page.set(changes, true);
    fill(news, `Dropped on the way to ${net.data.name}: `, ...dropped, ".");
    news.hidden = false;
    page.announce(news.textContent ?? "");
  };

  const load = (): void => {
    if (loaded === topology() && network) {
      show();
      return;
    }
    const wanted = topology();
    page.wrong([]);
    network = null;
    loaded = "";
    for (const card of cards.values()) {
      card.asking?.abort();
      card.view.end();
    }
    cards.clear();
    compare.replaceChildren();
    board.replaceChildren();
    page.title(`Plans on ${wanted}`);
    void awaiting(board, "Loading the network", (signal) => get<NetworkData>("/api/network", { topology: wanted }, signal), (data) => {
      network = new Network(data);
      loaded = wanted;
      board.replaceChildren();
      show();
    });
    controls();
  };

  const controls = (): void => {
    if (isTyped(bar)) return;
    const there = algorithms();
    const options = fitting().filter((option) => !there.includes(option.value));
    refill(
      bar,
      topologyField(page.info, topology(), (text) => {
        left ??= network ? kindOf(network) : "";
        change({ topology: text });
      }),
      input("Source", source(), (text) => change({ source: text })),
      input("Destinations", query.destinations ?? "", (text) => change({ destinations: text }), { placeholder: network ? `${network.nodeLabel(Math.min(1, network.data.nodes - 1))}; …` : "" }),
      input("Failed links", query.failed ?? "", (text) => change({ failed: text }), { placeholder: "none" }),
      select("Routing", [{ value: "", text: "as each has it" }, ...(all?.routings ?? []).map(({ name }) => ({ value: name, text: name }))], query.routing ?? "", (value) => change({ routing: value })),
      select("Ports", [{ value: "", text: "one at a time" }, { value: "all", text: "all at once" }], query.ports ?? "", (value) => change({ ports: value })),
      select("Add an algorithm", [{ value: "", text: options.length > 0 ? "choose …" : "all are there" }, ...options], "", (value) => value && change({ algorithms: [...there, value].join(",") }), { disabled: there.length >= MOST }),
      h("div", { class: "field" }, h("span", null, "A click sets"),
        choice("What a click sets", [{ value: "destinations", text: "destinations" }, { value: "source", text: "source" }, { value: "fail", text: "a failed link" }], mode, (value) => {
          mode = value as Mode;
          if (destinations().length === 0) for (const card of cards.values()) report(card);
        })),
      query.destinations || query.failed ? h("div", { class: "field" }, h("span", null, " "), button("Clear", () => change({ destinations: null, failed: null }))) : null,
    );
  };

  const show = (): void => {
    if (!network) return;
    move();
    controls();
    const wanted = algorithms();
    page.wrong([tooMany(), ...unasked(wanted)]);
    for (const [name, card] of cards) {
      if (wanted.includes(name)) continue;
      card.asking?.abort();
      card.view.end();
      card.element.remove();
      cards.delete(name);
    }
    if (wanted.length === 0) {
      fill(board, h("p", { class: "quiet empty" }, all ? "Add an algorithm above." : "…"));
      compare.replaceChildren();
      return;
    }
    board.querySelector(".empty")?.remove();
    for (const name of wanted) {
      let card = cards.get(name);
      if (!card) {
        card = make(name);
        cards.set(name, card);
      }
      board.append(card.element);
      ask(card);
    }
    summary();
  };

  const make = (algorithm: string): Card => {
    const head = h("div", { class: "card-head" });
    const below = h("div", { class: "card-below" });
    const card: Card = {
      algorithm, head, below, plan: null, verdict: undefined, error: null, asking: null,
      view: new NetworkView(network as Network, {
        label: `The worms of ${algorithm}; the list below has them as text.`,
        draw: (pen) => draw(pen, card),
        click: (hit) => click(hit),
        describe: (hit) => describe(hit, card),
      }),
      element: h("article", { class: "plan", "aria-label": algorithm }),
    };
    card.element.append(head, card.view.element, below);
    return card;
  };

  const ask = (card: Card): void => {
    card.asking?.abort();
    const controller = new AbortController();
    card.asking = controller;
    if (destinations().length === 0) {
      card.plan = null;
      card.error = null;
      report(card);
      return;
    }
    const asked = { topology: topology(), algorithm: card.algorithm, routing: routingOf(card.algorithm), source: source(), destinations: query.destinations, ports: query.ports, seed: seedOf(card.algorithm), failed: failed() };
    get<Plan>("/api/plan", asked, controller.signal).then(
      (found) => {
        if (controller.signal.aborted) return;
        card.plan = found;
        card.verdict = found.deadlock_free;
        card.error = null;
        report(card);
        summary();
      },
      (error: unknown) => {
        if (controller.signal.aborted || isAborted(error)) return;
        card.plan = null;
        card.error = error instanceof Error ? error.message : String(error);
        report(card);
        summary();
      },
    );
  };

  const report = (card: Card): void => {
    const entry = all?.algorithms.find((algorithm) => algorithm.name === card.algorithm);
    fill(card.head, h("h2", null, card.algorithm), h("span", { class: "quiet" }, entry?.summary ?? ""),
      button("×", () => change({ algorithms: algorithms().filter((name) => name !== card.algorithm).join(",") || null }), { class: "close", "aria-label": `Take ${card.algorithm} away` }));
    const found = card.plan;
    if (card.error !== null) {
      const { error } = card;
      fill(card.below, h("div", { class: "problem" }, error));
      if (![...alarm.children].some((said) => said.textContent === error)) alarm.append(h("p", null, error));
    } else if (!found) {
      fill(card.below, h("p", { class: "quiet" }, HINTS[mode]));
    } else {
      const net = network as Network;
      const routing = routingOf(card.algorithm);
      const to = { topology: topology(), algorithm: card.algorithm, ...(routing ? { routing } : {}), ...(query.failed ? { failed: query.failed } : {}) };
      fill(
        card.below,
        h("div", { class: "numbers-row" }, ...([["startups", found.startups], ["steps", found.steps], ["channels", found.channels], ["longest", found.longest]] as [string, number][]).map(([name, value]) =>
          h("div", { class: "gauge" }, h("b", { "data-figure": name }, figure(value)), h("span", null, name)))),
        h("p", null,
          found.contention === null ? h("span", { class: "good" }, "contention-free") : h("span", { class: "bad" }, "its worms may meet"), " · ",
          card.verdict === true ? h("span", { class: "good", "data-verdict": "free" }, "deadlock-free") : card.verdict === false ? h("span", { class: "bad", "data-verdict": "possible" }, "can deadlock") : h("span", { class: "quiet" }, "deadlocks not checked"), " ",
          link(page, "deadlock", to, format("deadlock", to), "why?")),
        found.warning ? h("p", { class: "quiet" }, found.warning) : null,
        table(`Worms of ${card.algorithm}`, [{ name: "worm" }, { name: "from" }, { name: "after" }, { name: "step", numeric: true }, { name: "channels", numeric: true }, { name: "visits" }],
          found.worms.map((row) => [
            h("span", { class: "marked", onpointerenter: () => point(row.id), onpointerleave: () => point(null) }, swatch(categories()[row.id % categories().length]), String(row.id)),
            net.nodeLabel(row.from), row.after === null ? "–" : String(row.after), String(row.step), String(row.channels.length), row.visits.map((node) => net.nodeLabel(node)).join(" > ")])),
      );
    }
    card.view.redraw();
  };

  const point = (id: number | null): void => {
    worm = id;
    for (const card of cards.values()) card.view.redraw();
  };

  /** All algorithms in a table: the least of each column stands out. */
  const summary = (): void => {
    const plans = algorithms().map((name) => cards.get(name)).filter((card): card is Card => card?.plan !== null && card !== undefined);
    if (plans.length < 2) {
      compare.replaceChildren();
      return;
    }
    const columns = ["startups", "steps", "channels", "longest"] as const;
    const best = columns.map((column) => Math.min(...plans.map((card) => (card.plan as Plan)[column])));
    fill(
      compare,
      table("Algorithms side by side", [{ name: "algorithm" }, ...columns.map((name) => ({ name, numeric: true })), { name: "worms", numeric: true }, { name: "meeting" }, { name: "deadlock" }],
        plans.map((card): Child[] => {
          const found = card.plan as Plan;
          return [card.algorithm, ...columns.map((column, i) => (found[column] === best[i] ? h("b", null, figure(found[column])) : figure(found[column]))), figure(found.worms.length),
            found.contention === null ? "contention-free" : "may meet", card.verdict === true ? "free" : card.verdict === false ? h("span", { class: "bad" }, "possible") : "–"];
        })),
    );
  };

  const click = (hit: Hit | null): void => {
    if (!hit || !network) return;
    if (hit.kind === "link") {
      if (mode === "fail") toggleLink(hit.id);
      return;
    }
    const nodes = hit.kind === "node" ? [hit.id] : network.nodesOf(hit.id);
    if (nodes.length === 0) return;
    const name = network.nodeLabel(nodes[0]);
    if (mode === "source") {
      change({ source: name, destinations: destinations().filter((other) => other !== name).join(";") || null });
      return;
    }
    if (mode === "fail" || name === labelled(source())) return;
    const there = destinations();
    change({ destinations: (there.includes(name) ? there.filter((other) => other !== name) : [...there, name]).join(";") || null });
  };

  /** A failed link is written as its two ends with a hyphen between. */
  const toggleLink = (id: number): void => {
    const net = network as Network;
    const { from, to } = net.data;
    const names = [net.routerLabel(from[id]), net.routerLabel(to[id])];
    const both = [`${names[0]}-${names[1]}`, `${names[1]}-${names[0]}`];
    const there = failed();
    const next = there.some((text) => both.includes(text)) ? there.filter((text) => !both.includes(text)) : [...there, both[0]];
    change({ failed: next.join(";") || null });
  };

  const draw = (pen: Pen, card: Card): void => {
    const net = network as Network;
    const colours = palette();
    const paints = categories();
    const { context } = pen;
    const worms = (card.plan?.worms ?? []).map((row, i) => ({ ...row, ids: (card.plan as Plan).channel_ids[i] }));
    // Names that are written on discs; nodes that lie apart have theirs beside them.
    const on = new Map<number, string>();
    const isOn = (node: number): void => {
      if (!net.nodeX) on.set(net.routerOf(node), colours.ground);
    };
    pen.crosses(net.linksBetween(failed()));
    for (const row of worms) {
      const colour = paints[row.id % paints.length];
      context.globalAlpha = worm === null || worm === row.id ? 1 : 0.2;
      pen.channels(row.ids, row.ids.length, colour, Math.max(2, pen.thickness * 1.3), true);
      pen.chevrons(row.ids, colours.ground);
      const goesOn = new Set(row.ids.map((id) => net.data.from[id]));
      for (const id of row.ids) {
        if (goesOn.has(net.data.to[id])) continue;
        const [x, y, angle] = pen.along(id, 0.94);
        pen.head(x, y, angle, Math.max(4, 0.13 * pen.pitch), colour);
      }
      for (const node of row.visits) {
        const [x, y] = net.nodeAt(node);
        pen.disc(pen.x(x), pen.y(y), pen.nodeRadius, colour);
        isOn(node);
      }
      if (row.after !== null) {
        const [x, y] = net.nodeAt(row.from);
        pen.ring(pen.x(x), pen.y(y), pen.nodeRadius * 1.25, colour, 2);
      }
    }
    context.globalAlpha = 1;
    const mark = (name: string, paint: (x: number, y: number) => void): void => {
      const node = net.findNode(name);
      if (node === null) return;
      const [x, y] = net.nodeAt(node);
      paint(pen.x(x), pen.y(y));
    };
    for (const name of destinations()) {
      mark(name, (x, y) => {
        const side = Math.max(8, net.nodeX ? 2.5 * pen.nodeRadius : 0.42 * pen.pitch);
        context.strokeStyle = colours.text;
        context.lineWidth = 1.6;
        context.strokeRect(x - side / 2, y - side / 2, side, side);
      });
    }
    if (source()) {
      mark(source(), (x, y) => {
        pen.disc(x, y, Math.max(5, pen.nodeRadius * (net.nodeX ? 0.9 : 1.1)), colours.text);
        pen.ring(x, y, Math.max(7, pen.nodeRadius * (net.nodeX ? 1.25 : 1.45)), colours.text, 2);
        isOn(net.findNode(source()) as number);
      });
    }
    card.view.labels(pen, on);
  };

  const describe = (hit: Hit, card: Card): string[] | null => {
    const net = network as Network;
    if (hit.kind === "link") {
      const on = (card.plan?.worms ?? []).filter((_, i) => card.plan?.channel_ids[i].includes(hit.id));
      const lines = [net.linkLabel(hit.id), ...on.map((row) => `worm ${row.id}, step ${row.step}`)];
      if (mode === "fail") lines.push("click: fail this link, or mend it");
      return lines;
    }
    const node = hit.kind === "node" ? hit.id : net.nodesOf(hit.id)[0];
    if (node === undefined) return [`router ${net.routerLabel(hit.id)}, no nodes`];
    const by = (card.plan?.worms ?? []).filter((row) => row.visits.includes(node));
    return [net.nodeLabel(node), ...by.map((row) => `reached by worm ${row.id} in step ${row.step}`)];
  };

  catalogue().then(
    (found) => {
      all = found;
      if (network) show();
    },
    (error: unknown) => bar.append(problem(error)),
  );
  load();
  return {
    element,
    update(next) {
      query = next;
      left = null;
      hush();
      load();
    },
    end() {
      giveUp(board);
      for (const card of cards.values()) {
        card.asking?.abort();
        card.view.end();
      }
      network = null;
    },
  };
}

/** What routings are made for, roughly: the shape of a network, and its dimensions. */
function kindOf({ data }: Network): string {
  return `${data.shape} ${data.size.length}`;
}

/** Some of them, none broken at its hyphens, and how many more there are. */
function named(items: readonly string[]): Child[] {
  const more = items.length - NAMED;
  const before = (i: number): string => (i === 0 ? "" : more <= 0 && i === items.length - 1 ? " and " : ", ");
  return [...items.slice(0, NAMED).flatMap((item, i) => [before(i), h("span", { class: "whole" }, item)]), more > 0 && ` and ${more} more`];
}

// Whether worms can block each other forever, and why: a cycle, or a numbering that shows that there is none.

import { changed, format, list, wrongWord } from "../address.ts";
import type { Query } from "../address.ts";
import { get } from "../api.ts";
import type { Analysis, Blame, Catalogue, Dependencies, Lanes, NetworkData } from "../api.ts";
import { button, choice, facts, figure, fill, h, input, isTyped, listed, percent, refill, select } from "../dom.ts";
import type { Child } from "../dom.ts";
import { categories, isDark, palette } from "../draw/colour.ts";
import { legend } from "../draw/legend.ts";
import { NetworkView } from "../draw/view.ts";
import type { Hit, Pen } from "../draw/view.ts";
import { Network } from "../network.ts";
import { awaiting, giveUp, link, problem, section } from "../view.ts";
import type { Page, View } from "../view.ts";
import { algorithmsFor, catalogue, topologyField } from "./choosing.ts";

/** The most dependencies that are drawn all at once. */
const DRAWN = 30_000;
/** How long each channel of the cycle is in front, in milliseconds. */
const BEAT = 700;
/** The most prohibited turns that are listed by name. */
const LISTED = 200;
/** What may be given beside forwarding tables. */
const OF_TABLES = ["multicast_tables", "groups", "branching", "lanes", "sl2vl"] as const;
/** How the packets of groups branch; the first is what they do by default. */
const BRANCHING = ["packets", "lockstep", "ibdmchk"] as const;

interface Shown {
  network: Network;
  analysis: Analysis;
}

export function deadlock(page: Page, first: Query): View {
  let query = first;
  /** Whether the address of this analysis was opened, and not made by what was chosen here. */
  let opened = true;
  const picture = h("div", { class: "stage" });
  const panel = h("aside", { class: "panel", "aria-label": "What the analysis says" });
  const chooser = h("div", null);
  const said = h("div", null);
  panel.append(chooser, said);
  const element = h("div", { class: "split" }, picture, panel);
  let all: Catalogue | null = null;
  let view: NetworkView | null = null;
  let shown: Shown | null = null;
  let asked = "";
  let edges: Dependencies | null = null;
  let edgesOf = "";
  let outgoing: Map<number, number[]> | null = null;
  let beat = 0;
  let timer = 0;
  let moving = !window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  let frame = 0;

  // Tables are of a network that has to be named.
  const topology = (): string => query.topology ?? (query.tables || query.multicast_tables ? "" : "torus:4x4");
  const failed = (): string[] => list(query.failed, ";");
  const parameters = (): Record<string, string> => {
    const given: Record<string, string> = { topology: topology() };
    for (const key of ["algorithm", "routing", "tables", ...OF_TABLES, "root", "seed", "consumption_ports", "virtual_channels"]) if (query[key]) given[key] = query[key];
    if (!given.algorithm && !given.routing && !given.tables && !given.multicast_tables) given.routing = "e-cube";
    return given;
  };
  /** Which analysis is asked for. */
  const keyOf = (): string => JSON.stringify([parameters(), failed()]);
  const change = (changes: Record<string, string | number | null>): void => {
    const before = keyOf();
    query = changed(query, changes);
    if (keyOf() !== before) opened = false;
    page.set(changes);
    load();
  };

  const load = (): void => {
    const given = parameters();
    const key = keyOf();
    choose();
    if (key === asked && shown) {
      show();
      return;
    }
    asked = key;
    page.wrong([]);
    const lacks = !given.topology ? `Enter the network of ${given.tables ?? given.multicast_tables} as the topology.`
      : given.multicast_tables && !given.tables ? `Choose the forwarding tables that go with ${given.multicast_tables}.` : "";
    if (lacks) {
      shown = null;
      view?.end();
      view = null;
      picture.replaceChildren();
      giveUp(said);
      fill(said, problem(lacks));
      return;
    }
    page.title(`${given.algorithm ?? given.routing ?? given.tables} on ${given.topology}`);
    void awaiting(
      said,
      "Analysing",
      async (signal) => {
        const [data, analysis] = await Promise.all([get<NetworkData>("/api/network", { topology: given.topology }, signal), get<Analysis>("/api/routing", { ...given, failed: failed() }, signal)]);
        return { data, analysis };
      },
      ({ data, analysis }) => {
        const same = shown?.network.data.name === data.name && shown.network.links === data.from.length && view !== null;
        shown = { network: same && shown ? shown.network : new Network(data), analysis };
        edges = null;
        outgoing = null;
        beat = 0;
        if (!opened && !layersOf(analysis).some(({ value }) => value === wanted())) {
          // Whoever chose this analysis did not ask it for the picture of the one before.
          query = changed(query, { show: null });
          page.set({ show: null }, true);
        }
        if (!same || !view) {
          view?.end();
          view = new NetworkView(shown.network, { draw, describe, label: `${data.name}, with what can block worms. The list beside it says the same.` });
          fill(picture, view.element);
        }
        choose();
        show();
        look();
        page.announce(analysis.deadlock_free ? "Worms cannot deadlock" : "Worms can deadlock");
      },
    ).then(() => {
      if (asked !== key || !said.querySelector(":scope > .problem")) return;
      // What is drawn would be another network.
      window.clearInterval(timer);
      shown = null;
      view?.end();
      view = null;
      picture.replaceChildren();
    });
  };

  const wanted = (): string => query.show ?? "";

  /** What the picture can show. */
  const layersOf = ({ deadlock_free, prohibited, numbering, loads }: Analysis): { value: string; text: string }[] => {
    const layers = [{ value: "", text: !deadlock_free ? "the cycle" : prohibited ? "turns" : "the network" }, { value: "dependencies", text: "dependencies" }];
    if (numbering) layers.push({ value: "numbering", text: "numbering" });
    if (loads) layers.push({ value: "load", text: "load" });
    return layers;
  };

  const needEdges = (): void => {
    const given = parameters();
    const key = keyOf();
    if (edges && edgesOf === key) return;
    edgesOf = key;
    get<Dependencies>("/api/dependencies", { ...given, failed: failed() }).then(
      (found) => {
        if (edgesOf !== key) return;
        edges = found;
        outgoing = new Map();
        for (const [held, requested] of found.edges) {
          const list = outgoing.get(held);
          if (list) list.push(requested);
          else outgoing.set(held, [requested]);
        }
        show();
      },
      (error: unknown) => said.append(problem(error)),
    );
  };

  const choose = (): void => {
    if (!all) return;
    const given = parameters();
    const shape = shown?.network.data.shape ?? null;
    const tables = page.info.items.filter((item) => item.kind === "tables");
    const ofGroups = page.info.items.filter((item) => item.kind === "multicast-tables");
    const value = given.algorithm ? `algorithm ${given.algorithm}` : given.tables ? `tables ${given.tables}` : given.routing ? `routing ${given.routing}` : "";
    const options = [
      ...all.routings.map((routing) => ({ value: `routing ${routing.name}`, text: routing.name, group: "Routings" })),
      ...algorithmsFor(all, shape).map((option) => ({ value: `algorithm ${option.value}`, text: option.text, group: "Multicast algorithms" })),
      ...tables.map((item) => ({ value: `tables ${item.path}`, text: item.path, group: "Forwarding tables" })),
    ];
    if (!options.some((option) => option.value === value)) options.push({ value, text: value ? value.slice(value.indexOf(" ") + 1) : "choose …", group: "Chosen" });
    if (isTyped(chooser)) return;
    refill(
      chooser,
      section(
        "What is analysed",
        topologyField(page.info, topology(), (text) => change({ topology: text })),
        select("Routing, algorithm or tables", options, value, (chosen) => {
          const [kind, ...name] = chosen.split(" ");
          // Options of what was chosen before would be refused.
          const gone = Object.fromEntries([...OF_TABLES, "root", "failed", ...(kind === "tables" ? ["virtual_channels", "seed"] : [])].map((key) => [key, null]));
          change({ routing: null, algorithm: null, tables: null, ...gone, [kind]: name.join(" ") });
        }),
        h("div", { class: "fields" },
          input("Consumption channels", query.consumption_ports ?? "", (text) => change({ consumption_ports: text || null }), { inputmode: "numeric", placeholder: shown ? String(shown.analysis.consumption_ports) : "4" }),
          given.tables ? null : input("Virtual channels", query.virtual_channels ?? "", (text) => change({ virtual_channels: text || null }), { inputmode: "numeric", placeholder: "as many as needed" }),
          given.tables
            ? select("Multicast tables", [{ value: "", text: "none" }, ...ofGroups.map((item) => ({ value: item.path, text: item.path }))], query.multicast_tables ?? "",
                (value) => change(value ? { multicast_tables: value } : { multicast_tables: null, groups: null, branching: null }))
            : null,
          failed().length > 0 || all.algorithms.some(({ name, faults }) => faults && name === given.algorithm) ? input("Failed links", query.failed ?? "", (text) => change({ failed: text || null }), { placeholder: "none" }) : null,
          given.tables ? input("Service levels", query.lanes ?? "", (text) => change({ lanes: text || null }), { placeholder: "a file; else all 0" }) : null,
          given.tables ? input("SL to VL tables", query.sl2vl ?? "", (text) => change({ sl2vl: text || null }), { placeholder: "opensm-sl2vl.dump" }) : null,
          given.multicast_tables ? input("Group members", query.groups ?? "", (text) => change({ groups: text || null }), { placeholder: "a file; else all" }) : null,
          given.multicast_tables ? select("Groups branch", BRANCHING.map((value) => ({ value, text: value })), query.branching ?? BRANCHING[0], (value) => change({ branching: value === BRANCHING[0] ? null : value })) : null,
          all.routings.some((routing) => routing.root && routing.name === given.routing) ? input("Root", query.root ?? "", (text) => change({ root: text || null }), { placeholder: "smallest-id" }) : null),
      ),
    );
  };

  const show = (): void => {
    if (!shown || !view) return;
    const { network, analysis } = shown;
    window.clearInterval(timer);
    const numbers = analysis.numbering;
    const layers = layersOf(analysis);
    page.wrong([wrongWord("show", wanted(), layers.map(({ value }) => value).filter((value) => value !== ""))]);
    const layer = layers.some((option) => option.value === wanted()) ? wanted() : "";
    let most = 0;
    if (layer === "numbering" && numbers) {
      for (const number of numbers) most = Math.max(most, number ?? 0);
      view.colour(numbers.map((number) => (number === null ? 0 : (number + 1) / (most + 1))));
    } else if (layer === "load" && analysis.loads) {
      for (const load of analysis.loads) most = Math.max(most, load);
      const loads = analysis.loads;
      view.colour(loads.map((load) => (most > 0 ? load / most : 0)));
    } else {
      view.colour(null);
    }
    if (layer === "dependencies") needEdges();
    const parts: Child[] = [];
    if (analysis.deadlock_free) {
      parts.push(h("div", { class: "verdict good", "data-verdict": "free" }, h("b", null, "Deadlock-free"), h("span", null, numbers ? "Channels can be numbered so that every route takes rising numbers." : "Worms cannot block each other forever.")));
    } else {
      parts.push(h("div", { class: "verdict bad", "data-verdict": "possible" }, h("b", null, "Worms can deadlock"), h("span", null, "A cycle, in which each may be held by a worm that waits for the next:")));
      parts.push(h("ol", { class: "cycle-list static" }, ...(analysis.cycle_resources ?? []).map(({ text }, i) => {
        const item = h("li", { "data-step": String(i), tabindex: "0", onfocus: () => stepTo(i), onclick: () => stepTo(i) }, h("strong", null, text));
        const pairs = analysis.closed_by?.[i];
        if (pairs) item.append(h("span", { class: "quiet" }, `: ${closing(network, pairs)}`));
        return item;
      })));
      parts.push(h("div", { class: "row-of" }, button(moving ? "Stop" : "Animate", () => { moving = !moving; show(); }), button("Step", () => { moving = false; show(); stepTo(beat + 1); })));
    }
    if (analysis.warning) parts.unshift(problem(new Error(analysis.warning)));
    const entries: [string, Child][] = [];
    if (analysis.tables) entries.push(["undelivered", `${figure(analysis.tables.undelivered_pairs)} of ${figure(analysis.tables.pairs)}`], ["missing entries", figure(analysis.tables.missing_count)]);
    if (analysis.connected !== null) entries.push(["connected", analysis.connected ? "yes" : "no"]);
    if (analysis.diameter !== null) entries.push(["diameter", figure(analysis.diameter)]);
    if (analysis.average_distance !== null) entries.push(["average distance", figure(analysis.average_distance)]);
    if (analysis.turns !== null) entries.push(["turns", figure(analysis.turns)]);
    if (analysis.all_prohibited !== null) entries.push(["prohibited", `${figure(analysis.all_prohibited)}${analysis.fraction === null ? "" : ` (${percent(analysis.fraction)})`}`]);
    if (analysis.lanes) entries.push(["virtual lanes", h("span", { "data-lanes": String(analysis.lanes.count) }, lanesLine(analysis.lanes))]);
    if (analysis.groups) entries.push(["groups", `${figure(analysis.groups.length)} (branching: ${analysis.branching})`]);
    if (analysis.blame) entries.push(["to blame", blameLine(analysis.blame)]);
    if (analysis.irreducible !== null) entries.push(["all needed", analysis.irreducible ? "yes" : "no"]);
    if (edges && edgesOf === keyOf()) entries.push(["dependencies", `${figure(edges.edges.length)}${edges.further ? ", and more between stops and branches" : ""}${edges.divided ? ", virtual channels of a channel taken together" : ""}`]);
    const layerWords: Record<string, Child> = {
      "": analysis.prohibited ? "Orange arcs are prohibited turns, in both directions." : null,
      dependencies: edges && edges.edges.length > DRAWN ? `Too many to draw at once: point at a channel to see what worms that hold it may wait for.` : "An arrow leads from a channel to one that a worm that holds it may wait for. Point at a channel to see its own.",
      numbering: `The ${isDark() ? "lighter" : "darker"}, the larger the number; a worm only takes larger ones than it holds, so there is no cycle.`,
      load: "How many pairs of nodes have a route through each channel.",
    };
    fill(
      said,
      h("section", { class: analysis.deadlock_free ? "part" : "part dead" }, ...parts),
      section("Picture", choice("What the picture shows", layers, layer, (value) => change({ show: value })),
        layer === "numbering" ? legend("0", figure(most)) : layer === "load" ? legend("0", figure(most)) : null,
        layerWords[layer] ? h("p", { class: "quiet" }, layerWords[layer]) : null),
      section("More", facts(entries), plannerLink()),
      analysis.prohibited && analysis.prohibited.length > 0
        ? section(`Prohibited turns, both ways`, h("ul", { class: "turns" }, ...analysis.prohibited.slice(0, LISTED).map((turn) => h("li", null, turn.map((router) => network.routerLabel(router)).join(" - ")))),
            analysis.prohibited.length > LISTED ? h("p", { class: "quiet" }, `and ${figure(analysis.prohibited.length - LISTED)} more`) : null)
        : null,
    );
    if (!analysis.deadlock_free && moving) timer = window.setInterval(() => stepTo(beat + 1), BEAT);
    else stepTo(beat);
    if (!analysis.deadlock_free && moving) run();
    view.redraw();
  };

  /** Goes near a cycle that is small in a large network. */
  const look = (): void => {
    if (!shown || !view) return;
    const { network, analysis } = shown;
    const routers = (analysis.cycle_resources ?? []).flatMap(({ channel, node }) => (channel !== null ? [network.data.from[channel], network.data.to[channel]] : node !== null ? [network.routerOf(node)] : []));
    if (routers.length === 0) return;
    const [xs, ys] = [routers.map((router) => network.x(router)), routers.map((router) => network.y(router))];
    const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    if (3 * (right - left) < network.width && 3 * (bottom - top) < network.height && network.data.routers > 100) view.show((left + right) / 2, (top + bottom) / 2, 70);
  };

  const plannerLink = (): Child => {
    const { algorithm } = parameters();
    if (!algorithm) return null;
    const to = { topology: topology(), algorithms: algorithm, ...(query.failed ? { failed: query.failed } : {}) };
    return link(page, "plan", to, format("plan", to), `Plan a multicast with ${algorithm}`);
  };

  const stepTo = (next: number): void => {
    const count = shown?.analysis.cycle_resources?.length ?? 0;
    if (count === 0) return;
    beat = ((next % count) + count) % count;
    said.querySelectorAll("[data-step]").forEach((item, i) => item.classList.toggle("now", i === beat));
    view?.redraw();
  };

  const run = (): void => {
    cancelAnimationFrame(frame);
    const again = (): void => {
      if (!moving || !shown || shown.analysis.deadlock_free) return;
      view?.redraw();
      frame = requestAnimationFrame(again);
    };
    frame = requestAnimationFrame(again);
  };

  /** Where a resource of the cycle lies: the middle of a channel, or a node. */
  const place = (pen: Pen, i: number): [number, number] => {
    const { network, analysis } = shown as Shown;
    const { channel, node } = (analysis.cycle_resources ?? [])[i];
    if (channel !== null) {
      const [x, y] = pen.along(channel, 0.5);
      return [x, y];
    }
    const [x, y] = network.nodeAt(node ?? 0);
    return [pen.x(x), pen.y(y)];
  };

  const draw = (pen: Pen): void => {
    if (!shown) return;
    const { network, analysis } = shown;
    const colours = palette();
    const { context } = pen;
    const layer = wanted();
    if (layer === "" && analysis.prohibited && pen.pitch > 14) turns(pen, network, analysis.prohibited);
    pen.crosses(network.linksBetween(failed()));
    const pointed = view?.pointed();
    if (layer === "dependencies" && edges && outgoing) {
      if (edges.edges.length <= DRAWN) {
        context.globalAlpha = edges.edges.length > 4000 ? 0.25 : 0.55;
        for (const [held, requested] of edges.edges) arrow(pen, pen.along(held, 0.5), pen.along(requested, 0.5), colours.accent, 1);
        context.globalAlpha = 1;
      }
      if (pointed?.kind === "link") {
        pen.channels([pointed.id], 1, colours.text, pen.thickness * 1.6 + 1);
        for (const requested of outgoing.get(pointed.id) ?? []) {
          pen.channels([requested], 1, categories()[1], pen.thickness * 1.5 + 1);
          arrow(pen, pen.along(pointed.id, 0.5), pen.along(requested, 0.5), colours.text, 2);
        }
      }
    }
    if (layer === "numbering" && analysis.numbering && pen.pitch > 52) {
      context.font = `600 ${Math.min(12, 0.13 * pen.pitch)}px system-ui, sans-serif`;
      context.textAlign = "center";
      context.textBaseline = "middle";
      for (let channel = 0; channel < network.links; channel++) {
        const number = analysis.numbering[channel];
        const [x, y, angle] = pen.along(channel, 0.4);
        if (number === null || !pen.sees(x, y)) continue;
        // Beside the channel, on its outer side.
        const away = 0.11 * pen.pitch;
        const [tx, ty] = [x - Math.sin(angle) * away, y + Math.cos(angle) * away];
        context.lineWidth = 3;
        context.strokeStyle = colours.ground;
        context.strokeText(String(number), tx, ty);
        context.fillStyle = colours.text;
        context.fillText(String(number), tx, ty);
      }
    }
    const cycle = analysis.cycle_resources?.map(({ channel }) => channel);
    if (cycle && cycle.length > 0) {
      const links = cycle.filter((channel): channel is number => channel !== null);
      pen.channels(links, links.length, colours.ground, pen.thickness * 1.3 + 5);
      pen.channels(links, links.length, colours.dead, Math.max(2.5, pen.thickness * 1.3));
      const march = moving ? -performance.now() / 22 : 0;
      for (let i = 0; i < cycle.length; i++) {
        const channel = cycle[i];
        if (channel === null) {
          const [x, y] = place(pen, i);
          pen.ring(x, y, pen.nodeRadius * 1.35, colours.dead, i === beat ? 4 : 2.5);
          continue;
        }
        const [x, y, angle] = pen.along(channel, 1);
        pen.head(x, y, angle, Math.max(5, 0.12 * pen.pitch), colours.dead);
      }
      for (let i = 0; i < cycle.length; i++) {
        const now = i === beat;
        context.setLineDash([5, 4]);
        context.lineDashOffset = march;
        arrow(pen, place(pen, i), place(pen, (i + 1) % cycle.length), colours.dead, now ? 2.6 : 1.4, true);
        context.setLineDash([]);
      }
      const now = cycle[beat];
      if (now !== null && now !== undefined) {
        pen.channels([now], 1, colours.text, Math.max(4, pen.thickness * 1.3 + 2));
        const [x, y, angle] = pen.along(now, 1);
        pen.head(x, y, angle, Math.max(6, 0.14 * pen.pitch), colours.text);
      }
    }
    view?.labels(pen);
  };

  const describe = (hit: Hit): string[] | null => {
    if (!shown) return null;
    view?.redraw();
    const { network, analysis } = shown;
    if (hit.kind === "router") return [`router ${network.routerLabel(hit.id)}`];
    if (hit.kind === "node") return [`node ${network.nodeLabel(hit.id)}`];
    const lines = [network.linkLabel(hit.id)];
    if (analysis.numbering) lines.push(analysis.numbering[hit.id] === null ? "on no route" : `number ${analysis.numbering[hit.id]}`);
    if (analysis.loads) lines.push(`load ${figure(analysis.loads[hit.id])}`);
    if (outgoing) lines.push(`${outgoing.get(hit.id)?.length ?? 0} dependencies`);
    return lines;
  };

  catalogue().then(
    (found) => {
      all = found;
      choose();
    },
    (error: unknown) => chooser.append(problem(error)),
  );
  load();
  return {
    element,
    update(next) {
      query = next;
      opened = true;
      load();
    },
    end() {
      giveUp(said);
      window.clearInterval(timer);
      cancelAnimationFrame(frame);
      moving = false;
      view?.end();
      shown = null;
    },
    key(event) {
      if (!shown || shown.analysis.deadlock_free) return false;
      if (event.key === " ") {
        moving = !moving;
        show();
        return true;
      }
      if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
        moving = false;
        show();
        stepTo(beat + (event.key === "ArrowRight" ? 1 : -1));
        return true;
      }
      return false;
    },
  };
}

/** The worms that close a dependency, as the command writes them. */
function closing(network: Network, { examples, pairs, multicasts, groups }: NonNullable<Analysis["closed_by"]>[number]): string {
  const ends = examples.map(([from, to]) => [network.nodeLabel(from), network.nodeLabel(to)]);
  const shown = ends.map(([from, to]) => `${from} to ${to}`);
  const more = (pairs ?? 0) - shown.length;
  if (more > 0) shown.push(`${more} more`);
  if (multicasts && multicasts.length > 0) shown.push(`multicasts of ${multicasts.length === 1 ? "line" : "lines"} ${multicasts.slice(0, 3).join(", ")}${multicasts.length > 3 ? ` and ${multicasts.length - 3} more` : ""}`);
  if (groups && groups.length > 0) shown.push(`${groups.length === 1 ? "group" : "groups"} ${listed(groups)}`);
  // Coordinates have commas of their own.
  return shown.length === 0 ? "no pair of nodes" : shown.join(ends.flat().some((label) => label.includes(",")) ? "; " : ", ");
}

/** What is known of virtual lanes, in the command's words. */
function lanesLine({ count, switches_without, without_level, dropped, by_lane }: Lanes): string {
  const of = (number: number, what: string): string => `${figure(number)} ${what}${number === 1 ? "" : what.endsWith("h") ? "es" : "s"}`;
  const parts = [figure(count)];
  if (switches_without > 0) parts.push(`at ${of(switches_without, "switch")}, each service level is a lane of its own`);
  if (without_level > 0) parts.push(`${of(without_level, "pair")} without a service level, taken for level 0`);
  if (dropped > 0) parts.push(`${of(dropped, "pair")} whose packets are dropped: their lane is 15`);
  for (const { lane, blocked, deadlock_free } of by_lane) if (!deadlock_free) parts.push(`on lane ${lane}, packets can be blocked forever on ${of(blocked, "channel")}`);
  return parts.join("; ");
}

/** Which groups close the cycle, in the command's words. */
function blameLine({ unicasts_alone, alone, smallest, is_smallest }: Blame): string {
  if (unicasts_alone) return "unicasts alone";
  if (alone.length > 0) return `${listed(alone)}${alone.length > 1 ? ", each alone" : " alone"}`;
  return `${listed(smallest)} together${is_smallest ? ", none of them alone" : "; without any of these there is no deadlock"}`;
}

/** A bent arrow between two places. */
function arrow(pen: Pen, from: ArrayLike<number>, to: ArrayLike<number>, colour: string, width: number, bent = false): void {
  const { context } = pen;
  const [x1, y1, x2, y2] = [from[0], from[1], to[0], to[1]];
  if (!pen.sees(x1, y1, 200) && !pen.sees(x2, y2, 200)) return;
  const [mx, my] = [(x1 + x2) / 2, (y1 + y2) / 2];
  const length = Math.hypot(x2 - x1, y2 - y1) || 1;
  const bend = bent ? Math.min(0.25 * length, 0.3 * pen.pitch) : 0.1 * length;
  const [cx, cy] = [mx + (-(y2 - y1) / length) * bend, my + ((x2 - x1) / length) * bend];
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.beginPath();
  context.moveTo(x1, y1);
  context.quadraticCurveTo(cx, cy, x2, y2);
  context.stroke();
  if (pen.pitch > 22) pen.head(x2, y2, Math.atan2(y2 - cy, x2 - cx), Math.max(3, 2.4 * width), colour);
}

/** Prohibited turns: an arc at the router, between the links that it joins. */
function turns(pen: Pen, network: Network, prohibited: readonly [number, number, number][]): void {
  const { context } = pen;
  context.strokeStyle = categories()[1];
  context.lineWidth = Math.max(1.5, 0.035 * pen.pitch);
  context.beginPath();
  const towards = (from: number, to: number): [number, number] => {
    const [dx, dy] = [network.x(to) - network.x(from), network.y(to) - network.y(from)];
    const length = Math.hypot(dx, dy) || 1;
    // Over a wrap-around link the neighbour is on the other side.
    const way = network.data.wraps && length > 1.5 * network.unit ? -1 : 1;
    return [(way * dx) / length, (way * dy) / length];
  };
  for (const [a, b, c] of prohibited) {
    const [x, y] = [pen.x(network.x(b)), pen.y(network.y(b))];
    if (!pen.sees(x, y)) continue;
    const [[ax, ay], [cx, cy]] = [towards(b, a), towards(b, c)];
    const reach = 0.33 * pen.pitch;
    context.moveTo(x + ax * reach, y + ay * reach);
    const straight = Math.abs(ax + cx) + Math.abs(ay + cy) < 0.2;
    const bend = straight ? 0.28 * pen.pitch : 0.12 * pen.pitch;
    const [bx, by] = straight ? [-ay, ax] : [ax + cx, ay + cy];
    context.quadraticCurveTo(x + bx * bend, y + by * bend, x + cx * reach, y + cy * reach);
  }
  context.stroke();
}

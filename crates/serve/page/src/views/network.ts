// The network: its wiring, and what was measured of its channels.

import { numberBelow, wrongNumber } from "../address.ts";
import type { Query } from "../address.ts";
import { get } from "../api.ts";
import type { NetworkData, ReplayHeader } from "../api.ts";
import { choice, facts, figure, fill, h, input, isTyped, refill, select, table } from "../dom.ts";
import { legend } from "../draw/legend.ts";
import { NetworkView } from "../draw/view.ts";
import type { Hit } from "../draw/view.ts";
import { palette } from "../draw/colour.ts";
import { asKind, asMeasure, isShare, KINDS, largest, MEASURE_NAMES, MEASURES, maximum, shades, values, valueOf, wordsOf, written } from "../measure.ts";
import { ChannelSpace, Network } from "../network.ts";
import { format } from "../address.ts";
import { awaiting, giveUp, link, problem, section } from "../view.ts";
import { checked } from "../replay/source.ts";
import type { Page, View } from "../view.ts";

export function network(page: Page, query: Query): View {
  const picture = h("div", { class: "stage" });
  const panel = h("aside", { class: "panel", "aria-label": "About the network" });
  const element = h("div", { class: "split" }, picture, panel);
  let view: NetworkView | null = null;
  let damaged: string | null = null;
  let shown: { source: string; network: Network; header: ReplayHeader | null; space: ChannelSpace } | null = null;

  const load = (): void => {
    const source = query.replay ? `replay ${query.replay}` : `topology ${query.topology ?? "mesh:8x8"}`;
    if (shown?.source === source) {
      show();
      return;
    }
    // Nothing of the old network stays beside the new address.
    shown = null;
    view?.end();
    view = null;
    damaged = null;
    page.wrong([]);
    refill(panel, choose());
    void awaiting(
      picture,
      "Loading the network",
      async (signal) => {
        if (query.replay) {
          const header = await get<ReplayHeader>("/api/replay", { file: query.replay }, signal);
          return { header, data: header.network };
        }
        return { header: null, data: await get<NetworkData>("/api/network", { topology: query.topology ?? "mesh:8x8" }, signal) };
      },
      ({ header, data }) => {
        const { injection, consumption } = header?.ports ?? { injection: 0, consumption: 0 };
        shown = { source, network: new Network(data), header, space: new ChannelSpace(data.from.length, data.nodes, injection, consumption) };
        view?.end();
        view = new NetworkView(shown.network, {
          label: `${data.name}: ${data.routers} routers, ${data.from.length} channels. The table beside it has the numbers.`,
          describe,
          click: (hit) => pick(hit),
          draw: (pen) => {
            const chosen = selected();
            const colours = palette();
            if (chosen?.kind === "link" && chosen.id >= shown!.network.links) {
              const [x, y] = shown!.network.nodeAt(shown!.space.node(chosen.id));
              pen.ring(pen.x(x), pen.y(y), Math.max(6, pen.nodeRadius * 1.35), colours.accent, 3);
            } else if (chosen?.kind === "link") {
              pen.channels([chosen.id], 1, colours.accent, pen.thickness * 1.6 + 2);
              const [x, y, angle] = pen.along(chosen.id, 0.75);
              pen.head(x, y, angle, Math.max(6, 0.11 * pen.pitch), colours.accent);
            }
            if (chosen?.kind === "router") pen.ring(pen.x(shown!.network.x(chosen.id)), pen.y(shown!.network.y(chosen.id)), Math.max(6, pen.radius * 1.35), colours.accent, 3);
            view?.labels(pen);
          },
        });
        fill(picture, view.element);
        show();
      },
    );
    const { replay } = query;
    if (replay) void checked(replay).then((found) => {
      if (found === null || query.replay !== replay) return;
      damaged = found;
      show();
    });
  };

  const selected = (): Hit | null => {
    if (!shown) return null;
    const router = numberBelow(query.router, shown.network.data.routers);
    const channel = numberBelow(query.link, shown.space.size);
    if (channel !== null) return { kind: "link", id: channel };
    if (router !== null) return { kind: "router", id: router };
    return null;
  };

  const describe = (hit: Hit): string[] | null => {
    if (!shown) return null;
    const { network, header } = shown;
    if (hit.kind === "node") return [`node ${network.nodeLabel(hit.id)}`, `at router ${network.routerLabel(network.routerOf(hit.id))}`];
    if (hit.kind === "router") return [`router ${network.routerLabel(hit.id)}`, ...nodesLine(network, hit.id)];
    const lines = [network.linkLabel(hit.id), `channel ${hit.id}`];
    if (header) for (const measure of MEASURES) lines.push(`${MEASURE_NAMES[measure].toLowerCase()} ${written(measure, valueOf(header, measure, asKind(query.kind), hit.id))}`);
    return lines;
  };

  /** Takes a channel into view; those of nodes lie at their routers. */
  const goTo = (channel: number): void => {
    if (!shown) return;
    if (channel < shown.network.links) view?.showLink(channel);
    else view?.showRouter(shown.network.routerOf(shown.space.node(channel)));
  };

  const pick = (hit: Hit | null): void => {
    if (hit?.kind === "link") change({ link: hit.id, router: null });
    else if (hit?.kind === "router") change({ router: hit.id, link: null });
    else change({ router: null, link: null });
  };

  const change = (changes: Record<string, string | number | null>): void => {
    const next: Record<string, string> = { ...query };
    for (const [key, value] of Object.entries(changes)) {
      if (value === null || value === "") delete next[key];
      else next[key] = String(value);
    }
    query = next;
    page.set(changes);
    load();
  };

  const choose = (): HTMLElement => {
    const replays = page.info.items.filter((item) => item.kind === "replay");
    const networks = page.info.items.filter((item) => item.kind === "network");
    return section(
      "Network",
      input("Topology", query.replay ? "" : (query.topology ?? "mesh:8x8"), (topology) => topology && change({ topology, replay: null, measure: null, kind: null, router: null, link: null }), {
        placeholder: query.replay ? "of the replay" : "mesh:8x8", list: "network-forms",
      }),
      h("datalist", { id: "network-forms" }, ...["mesh:8x8", "mesh:64x64", "torus:8x8", "hypercube:5", "bmin:4x3", "omega:2x3", "random:nodes=64,degree=4,seed=7", ...networks.map((item) => item.path)].map((value) => h("option", { value }))),
      replays.length > 0 &&
        select("Measurements of a run", [{ value: "", text: "none" }, ...replays.map((item) => ({ value: item.path, text: item.path }))], query.replay ?? "",
          (replay) => change(replay ? { replay, topology: null, router: null, link: null } : { replay: null, measure: null, kind: null, topology: shown?.network.data.name ?? null, router: null, link: null })),
    );
  };

  const show = (): void => {
    if (!shown || !view) return;
    const { network, header, space } = shown;
    const [measure, kind] = [asMeasure(query.measure), asKind(query.kind)];
    page.title(network.data.name);
    page.wrong([wrongNumber("router", query.router, network.data.routers, "network"), wrongNumber("channel", query.link, space.size, "network")]);
    const parts: HTMLElement[] = [choose()];
    if (damaged !== null) parts.unshift(problem(new Error(damaged)));
    const search = input("Find a router, node or channel", "", (text) => find(text), { placeholder: "3,4 or 3,4 -> 3,5", type: "search" });
    if (header) {
      const measured = values(header, measure, kind);
      const most = maximum(measured.subarray(0, network.links));
      view.colour(shades(measured, network.links));
      const top = largest(measured, 12);
      parts.push(
        section(
          "Colour",
          select("Measurement", MEASURES.map((value) => ({ value, text: MEASURE_NAMES[value] })), measure, (value) => change({ measure: value })),
          choice("Messages", KINDS.map((value) => ({ value, text: value === "all" ? "all" : `${value}s` })), kind, (value) => change({ kind: value === "all" ? null : value })),
          legend(written(measure, 0), written(measure, most)),
          h("p", { class: "quiet" }, `${wordsOf(measure, header)}, over all ${figure(header.cycles)} cycles of the run; simulate prints shares of what it measures, without the warm-up`),
        ),
        section(
          `The ${top.length === 1 ? "channel" : "channels"} with most`,
          top.length === 0
            ? h("p", { class: "quiet" }, "Nothing was measured.")
            : table(`Channels by ${MEASURE_NAMES[measure].toLowerCase()}`, [{ name: "channel" }, { name: isShare(measure) ? "share" : measure, numeric: true }],
                top.map((id) => [h("button", { type: "button", class: "plain", onclick: () => { change({ link: id, router: null }); goTo(id); } }, space.label(network, id)), written(measure, measured[id])]), { class: "numbers" }),
        ),
      );
    } else {
      view.colour(null);
    }
    parts.push(
      section(
        "About",
        facts([
          ["name", network.data.name],
          ["routers", figure(network.data.routers)],
          ["nodes", figure(network.data.nodes)],
          ["channels", figure(network.links)],
          ...(header ? ([["algorithm", header.algorithm], ["cycles", figure(header.cycles)], ["messages", figure(header.counts.messages)], ["worms", figure(header.counts.worms)]] as [string, string][]) : []),
        ]),
        network.data.warning ? h("p", null, `${network.data.warning}.`) : null,
        network.data.unidirectional ? null : h("p", { class: "quiet" }, "Channels keep to the right of their direction, as on a road."),
      ),
    );
    parts.splice(damaged === null ? 1 : 2, 0, section("Find", search, details()));
    if (!isTyped(panel)) refill(panel, ...parts);
    view.redraw();
  };

  const details = (): HTMLElement | null => {
    const hit = selected();
    if (!hit || !shown) return null;
    const { network, header, space } = shown;
    if (hit.kind === "link") {
      const entries: [string, string | Node][] = [["channel", space.label(network, hit.id)], ["number", String(hit.id)]];
      if (header) for (const measure of MEASURES) {
        entries.push([MEASURE_NAMES[measure].toLowerCase(), KINDS.map((kind) => `${written(measure, valueOf(header, measure, kind, hit.id))}${kind === "all" ? "" : ` ${kind}`}`).join(" · ")]);
      }
      const go = { file: query.replay ?? "", link: String(hit.id) };
      return h("div", { class: "details" }, facts(entries), header ? link(page, "replay", go, format("replay", go), "Which messages go through it?") : null);
    }
    const outputs = Array.from(network.outputs.subarray(network.firstOutput[hit.id], network.firstOutput[hit.id + 1]));
    return h("div", { class: "details" }, facts([["router", network.routerLabel(hit.id)], ["nodes", nodesLine(network, hit.id).join(", ") || "its own"], ["leads to", outputs.map((id) => network.routerLabel(network.data.to[id])).join("; ")]]));
  };

  const find = (text: string): void => {
    if (!shown || !text) return;
    const { network } = shown;
    const channel = network.findLink(text);
    if (channel !== null) {
      change({ link: channel, router: null });
      view?.showLink(channel);
      page.announce(`Channel ${network.linkLabel(channel)}`);
      return;
    }
    const node = network.findNode(text);
    const router = network.findRouter(text) ?? (node === null ? null : network.routerOf(node));
    if (router !== null) {
      change({ router, link: null });
      view?.showRouter(router);
      page.announce(`Router ${network.routerLabel(router)}`);
      return;
    }
    const field = panel.querySelector<HTMLInputElement>("input[type=search]");
    if (field) {
      field.value = text;
      field.setAttribute("aria-invalid", "true");
    }
    page.announce(`Nothing here is called ${text}`);
    panel.querySelector(".missing")?.remove();
    field?.closest("label")?.append(h("span", { class: "missing" }, `Nothing is called “${text}”; names are such as ${network.routerLabel(0)} or ${network.links > 0 ? network.linkLabel(0) : network.nodeLabel(0)}.`));
  };

  load();
  return {
    element,
    update(next) {
      query = next;
      load();
    },
    end() {
      giveUp(picture);
      view?.end();
      shown = null;
    },
    key(event) {
      if (event.key !== "/") return false;
      panel.querySelector<HTMLInputElement>("input[type=search]")?.focus();
      return true;
    },
  };
}

function nodesLine(network: Network, router: number): string[] {
  const nodes = network.nodesOf(router);
  if (nodes.length === 1 && network.nodeLabel(nodes[0]) === network.routerLabel(router)) return [];
  if (nodes.length === 0) return ["no nodes"];
  return [`${nodes.length === 1 ? "node" : "nodes"} ${nodes.slice(0, 6).map((node) => network.nodeLabel(node)).join(", ")}${nodes.length > 6 ? `, ${nodes.length - 6} more` : ""}`];
}

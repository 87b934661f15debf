// What is in the folder, and what can be done with it.

import { format } from "../address.ts";
import type { Query, ViewName } from "../address.ts";
import type { Info, Item } from "../api.ts";
import { bytes, fill, h } from "../dom.ts";
import { link, problem } from "../view.ts";
import type { Page, View } from "../view.ts";
import { usualStore } from "./choosing.ts";

const KINDS: { kind: Item["kind"]; title: string; none: string }[] = [
  { kind: "replay", title: "Replays", none: "None yet: wormcast simulate EXPERIMENT --replay run.replay records one, and so does “Replay this point” beside a curve." },
  { kind: "experiment", title: "Experiments", none: "None here." },
  { kind: "store", title: "Stores", none: "None yet: a sweep leaves one." },
  { kind: "network", title: "Networks", none: "None here; topologies can also be given as text, such as mesh:8x8." },
  { kind: "tables", title: "Forwarding tables", none: "None here." },
  { kind: "multicast-tables", title: "Multicast tables", none: "None here." },
];

/** Where items of a kind lead, the best first. */
export function leads(item: Item, info: Info): [string, ViewName, Query][] {
  switch (item.kind) {
    case "replay":
      return [["Watch", "replay", { file: item.path }], ["Network", "network", { replay: item.path }]];
    case "experiment": {
      const store = usualStore(info);
      return [["Curves", "curves", store ? { experiment: item.path, store } : { experiment: item.path }], ["Sweep", "sweeps", { experiment: item.path }]];
    }
    case "store":
      return [["Curves", "curves", { store: item.path }]];
    case "network":
      return [["Look", "network", { topology: item.path }], ["Deadlock", "deadlock", { topology: item.path, routing: "up-down" }], ["Plan", "plan", { topology: item.path }]];
    case "tables":
      return [["Deadlock", "deadlock", { ...item.beside, tables: item.path }]];
    case "multicast-tables":
      return [["Deadlock", "deadlock", { ...item.beside, multicast_tables: item.path }]];
  }
}

export function home(page: Page): View {
  const element = h("div", { class: "text" });
  const show = (info: Info): void => {
    const begin: [string, string, ViewName, Query][] = [
      ["See a network", "an 8x8 mesh, its names and wiring", "network", { topology: "mesh:8x8" }],
      ["See a deadlock", "why worms on a torus can block each other forever", "deadlock", { topology: "torus:4x4", routing: "e-cube" }],
      ["Plan a multicast", "click a source and destinations; algorithms side by side", "plan", { topology: "mesh:8x8", source: "4,3", destinations: "1,4;1,5;2,7;6,5;7,2;5,1;2,1", algorithms: "dual-path,pure-negative-first" }],
    ];
    fill(
      element,
      h("h1", null, "What is here"),
      h("p", { class: "quiet" }, "Folder ", h("code", null, info.root)),
      h("div", { class: "cards" }, ...begin.map(([title, words, view, query]) => {
        const card = link(page, view, query, format(view, query), [h("strong", null, title), h("span", null, words)] as unknown as Node);
        fill(card, h("strong", null, title), h("span", null, words));
        card.className = "card";
        return card;
      })),
      info.more ? h("p", { class: "quiet" }, "There are more files here than are listed; an address may name any of them.") : null,
      ...KINDS.map(({ kind, title, none }) => {
        const items = info.items.filter((item) => item.kind === kind);
        return h(
          "section",
          null,
          h("h2", null, title, " ", h("span", { class: "count" }, String(items.length))),
          items.length === 0
            ? h("p", { class: "quiet" }, none)
            : h("div", { class: "list" }, ...items.map((item) => {
                const [first, ...others] = leads(item, info);
                return h("div", { class: item.path === info.open?.path ? "row open" : "row" },
                  h("span", { class: "path" }, link(page, first[1], first[2], format(first[1], first[2]), item.path)),
                  h("span", { class: "quiet" }, bytes(item.bytes)),
                  h("span", { class: "leads" }, ...[first, ...others].map(([text, view, query]) => link(page, view, query, format(view, query), text))));
              })),
        );
      }),
    );
  };
  show(page.info);
  page.refresh().then(show, (error: unknown) => element.append(problem(error)));
  return { element, update: () => undefined, end: () => undefined };
}

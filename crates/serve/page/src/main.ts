// The page: its head, its addresses, and the view that is shown. Also the start of replays that are embedded in a report.

import "./page.css";
import { changed, format, parse, unknown, VIEWS } from "./address.ts";
import type { Address, Query, ViewName } from "./address.ts";
import { get } from "./api.ts";
import type { Info, ReplayHeader } from "./api.ts";
import { fill, h, leave, returnTo } from "./dom.ts";
import { Events } from "./events.ts";
import { Replay } from "./replay/source.ts";
import { Player } from "./replay/player.ts";
import { link, problem } from "./view.ts";
import type { Page, View } from "./view.ts";
import { home } from "./views/home.ts";
import { network } from "./views/network.ts";
import { replay } from "./views/replay.ts";
import { deadlock } from "./views/deadlock.ts";
import { plan } from "./views/plan.ts";
import { curves } from "./views/curves.ts";
import { sweeps } from "./views/sweeps.ts";

const MAKERS: Record<ViewName, (page: Page, query: Query) => View> = { home, network, replay, deadlock, plan, curves, sweeps };
const NAMES: Record<ViewName, string> = {
  home: "Files",
  network: "Network",
  replay: "Replay",
  deadlock: "Deadlock",
  plan: "Planner",
  curves: "Curves",
  sweeps: "Sweeps",
};

class App implements Page {
  info: Info;
  readonly #root: HTMLElement;
  readonly #main = h("main", { id: "view", tabindex: "-1" });
  readonly #live = h("div", { class: "unseen", "aria-live": "polite" });
  /** The place of what is wrong with the address. */
  readonly #wrong = h("div", null);
  /** The part of it that the view has said. */
  #ofView: readonly string[] = [];
  readonly #tabs = new Map<ViewName, HTMLAnchorElement>();
  #address: Address = { view: "home", query: {} };
  #view: View | null = null;
  readonly #events = new Events();

  constructor(root: HTMLElement, info: Info) {
    this.#root = root;
    this.info = info;
    const nav = h("nav", { "aria-label": "Views" });
    for (const view of VIEWS) {
      const tab = link(this, view, {}, format(view, {}), NAMES[view]);
      this.#tabs.set(view, tab);
      nav.append(tab);
    }
    const skip = h("a", { class: "skip", href: "#view", onclick: (event: Event) => { event.preventDefault(); this.#main.focus(); } }, "Skip to the view");
    fill(
      this.#root,
      skip,
      h("header", { class: "top" }, h("div", { class: "brand" }, h("img", { src: "/icon.svg", alt: "", width: "22", height: "22" }), h("span", null, "wormcast")), nav,
        h("span", { class: "version", title: info.commit ? `commit ${info.commit}` : undefined }, info.version)),
      this.#wrong,
      this.#main,
      this.#live,
    );
    window.addEventListener("popstate", () => this.#arrive(parse(location.pathname, location.search)));
    window.addEventListener("keydown", (event) => {
      if (isFree(event) && this.#view?.key?.(event)) event.preventDefault();
    });
  }

  begin(): void {
    this.#arrive(parse(location.pathname, location.search));
  }

  async refresh(): Promise<Info> {
    this.info = await get<Info>("/api/info");
    return this.info;
  }

  set(changes: Readonly<Record<string, string | number | null | undefined>>, replace = false): void {
    const query = changed(this.#address.query, changes);
    const text = format(this.#address.view, query);
    if (text === format(this.#address.view, this.#address.query)) return;
    this.#address = { view: this.#address.view, query };
    if (replace) history.replaceState(null, "", text);
    else history.pushState(null, "", text);
    this.#showWrong();
  }

  go(view: ViewName, query: Query): void {
    const text = format(view, query);
    if (text !== format(this.#address.view, this.#address.query)) history.pushState(null, "", text);
    this.#arrive({ view, query });
    window.scrollTo(0, 0);
  }

  wrong(said: readonly string[]): void {
    this.#ofView = said;
    this.#showWrong();
  }

  announce(text: string): void {
    this.#live.textContent = text;
  }

  title(text: string): void {
    document.title = text ? `${text} – wormcast` : "wormcast";
  }

  listen(event: string, heard: (data: unknown) => void): () => void {
    return this.#events.listen(event, heard);
  }

  #showWrong(): void {
    const said = [unknown(this.#address), ...this.#ofView].filter((text) => text !== "").join(". ");
    // Screen readers say it again whenever it is put there.
    if (said !== this.#wrong.textContent) fill(this.#wrong, said ? problem(said) : null);
  }

  #arrive(address: Address): void {
    const same = this.#view !== null && this.#address.view === address.view;
    // A field that has the focus shows what the address says now, whatever is typed in it.
    const focused = leave(this.#main);
    this.#address = address;
    this.wrong([]);
    for (const [view, tab] of this.#tabs) {
      if (view === address.view) tab.setAttribute("aria-current", "page");
      else tab.removeAttribute("aria-current");
    }
    this.#tabs.get(address.view)?.scrollIntoView({ block: "nearest", inline: "nearest" });
    if (same) {
      this.#view?.update(address.query);
      returnTo(this.#main, focused);
      return;
    }
    this.#view?.end();
    this.title(address.view === "home" ? "" : NAMES[address.view]);
    this.#view = MAKERS[address.view](this, address.query);
    this.#main.className = `view-${address.view}`;
    fill(this.#main, this.#view.element);
  }
}

/** Whether a key is nobody else's: it is not typed into a field, and presses nothing. */
function isFree(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement;
  if (event.ctrlKey || event.metaKey || event.altKey || target.matches("input:not([type=range]):not([type=checkbox]), select, textarea")) return false;
  return event.key !== " " || !target.matches("button, a, summary, input[type=checkbox]");
}

async function start(): Promise<void> {
  for (const place of document.querySelectorAll<HTMLElement>(".wc[data-wormcast=replay]")) {
    const data = place.querySelector("script[type='application/json']");
    try {
      const { header, chunks } = JSON.parse(data?.textContent ?? "") as { header: ReplayHeader; chunks: string[] };
      const player = new Player(Replay.embedded(header, chunks), {}, {});
      fill(place, player.element);
      place.addEventListener("keydown", (event) => {
        if (isFree(event) && player.key(event)) event.preventDefault();
      });
    } catch (error) {
      fill(place, problem(error));
    }
  }
  const root = document.getElementById("app");
  if (!root) return;
  try {
    new App(root, await get<Info>("/api/info")).begin();
  } catch (error) {
    fill(root, problem(error));
  }
}

void start();

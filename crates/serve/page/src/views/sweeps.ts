// Sweeps: what runs and what has been run, how far it is, what it says, and where it was computed.

import { format } from "../address.ts";
import type { Query } from "../address.ts";
import { get, post } from "../api.ts";
import type { Sweep } from "../api.ts";
import { button, duration, figure, fill, h, input, isTyped, refill, select, table } from "../dom.ts";
import { link, problem } from "../view.ts";
import type { Page, View } from "../view.ts";
import { USUAL, usualStore } from "./choosing.ts";

/** A time as everybody reads it. */
function moment(seconds: number): string {
  return new Date(1000 * seconds).toISOString().slice(0, 16).replace("T", " ") + " UTC";
}

const STATES: Record<Sweep["state"], string> = { running: "running", done: "complete", stopped: "stopped", failed: "failed", partial: "not complete", elsewhere: "goes on in another process" };

export function sweeps(page: Page, first: Query): View {
  let query = first;
  let known: Sweep[] = [];
  const element = h("div", { class: "text" });
  const begin = h("div", null);
  const trouble = h("div", null);
  const cards = h("div", { class: "sweeps" });
  fill(element, h("h1", null, "Sweeps"), begin, trouble, cards);
  let jobs = "";
  let store = "";

  const form = (): void => {
    // What is being typed stays, and so does a button between the two halves of a click.
    if (isTyped(begin) || begin.matches(":active")) return;
    const experiments = page.info.items.filter((item) => item.kind === "experiment");
    /** The experiment of the address, if there is one. */
    const named = (): string | undefined => experiments.find((item) => item.path === query.experiment)?.path;
    const chosen = named() ?? (page.info.open?.kind === "experiment" ? page.info.open.path : experiments[0]?.path ?? "");
    refill(
      begin,
      !query.experiment || named() ? null : problem(new Error(`there is no experiment “${query.experiment}” in the folder that is served`)),
      experiments.length === 0
        ? h("p", { class: "quiet" }, "There is no experiment in this folder.")
        : h("div", { class: "bar" },
            select("Experiment", experiments.map((item) => ({ value: item.path, text: item.path })), chosen, (value) => {
              query = { ...query, experiment: value };
              page.set({ experiment: value });
            }),
            input("Store", store, (text) => { store = text; }, { placeholder: usual() }),
            input("Threads", jobs, (text) => { jobs = text; }, { inputmode: "numeric", placeholder: "all" }),
            h("div", { class: "field" }, h("span", null, " "), button("Start", () => void start(named() ?? chosen), { class: "primary" }))),
    );
  };

  /** The store that there is, or the one that the command would make. */
  const usual = (): string => usualStore(page.info) ?? USUAL;

  const start = async (experiment: string, of?: string): Promise<void> => {
    trouble.replaceChildren();
    if (jobs && !(/^\d+$/.test(jobs) && Number(jobs) >= 1 && Number(jobs) <= 1024)) {
      fill(trouble, problem(new Error(`the number of threads is “${jobs}”; expected a whole number from 1 to 1024`)));
      return;
    }
    try {
      await post("/api/sweeps", { experiment, store: of ?? (store || usual()), ...(jobs ? { jobs: Number(jobs) } : {}) });
      await load();
      page.announce(`The sweep of ${experiment} has started`);
    } catch (error) {
      fill(trouble, problem(error));
    }
  };

  const stop = async (sweep: Sweep): Promise<void> => {
    trouble.replaceChildren();
    try {
      await post("/api/sweeps/stop", { id: sweep.id });
      page.announce("The sweep stops; what is done is kept");
      await load();
    } catch (error) {
      fill(trouble, problem(error));
    }
  };

  const load = async (): Promise<void> => {
    try {
      known = await get<Sweep[]>("/api/sweeps");
      fill(cards, ...(known.length === 0 ? [h("p", { class: "quiet" }, "Nothing has been swept here yet.")] : known.map((sweep) => card(sweep))));
    } catch (error) {
      fill(cards, problem(error));
    }
  };

  const card = (sweep: Sweep): HTMLElement => {
    const done = sweep.points === 0 ? 0 : sweep.state === "done" ? 1 : Math.min(1, Math.max(sweep.points_done / sweep.points, sweep.replications > 0 ? sweep.replications_done / sweep.replications : 0));
    const bar = h("div", { class: "progress", role: "progressbar", "aria-valuemin": "0", "aria-valuemax": "100", "aria-valuenow": String(Math.round(100 * done)), "aria-label": `Progress of ${sweep.experiment}` }, h("span", null));
    (bar.firstElementChild as HTMLElement).style.width = `${100 * done}%`;
    const to = { experiment: sweep.experiment, store: sweep.store };
    return h(
      "article",
      { class: `sweep ${sweep.state}`, "data-sweep": sweep.id },
      h("div", { class: "sweep-head" }, h("div", null, h("h2", null, sweep.title || sweep.experiment), h("span", { class: "quiet" }, `${sweep.experiment} in ${sweep.store}`)), h("span", { class: `state ${sweep.state}` }, STATES[sweep.state])),
      bar,
      h("p", { class: "quiet" },
        `${figure(sweep.points_done)} of ${figure(sweep.points)} points, ${figure(sweep.replications_done)} replications`,
        sweep.seconds > 0 ? `; ${duration(sweep.seconds)}${sweep.state === "running" ? " so far" : ""}` : "",
        sweep.seconds_left !== null && sweep.state === "running" ? `, about ${duration(sweep.seconds_left)} left` : "",
      ),
      sweep.error ? problem(new Error(sweep.error)) : null,
      h("div", { class: "row-of" },
        sweep.state === "running" ? button("Stop", () => void stop(sweep)) : sweep.state === "done" || sweep.state === "elsewhere" ? null : button("Resume", () => void start(sweep.experiment, sweep.store), { class: "primary" }),
        link(page, "curves", to, format("curves", to), "Curves")),
      sweep.claims.length > 0
        ? h("details", null, h("summary", null, `${sweep.claims.length} ${sweep.claims.length === 1 ? "claim" : "claims"}: ${verdicts(sweep)}`),
            table("Verdicts", [{ name: "claim" }, { name: "verdict" }], sweep.claims.map((claim) => [h("span", null, h("b", null, claim.id), " ", claim.text), h("span", { class: /^reproduced/.test(claim.verdict) ? "good" : "bad" }, claim.verdict)])))
        : null,
      sweep.origins.length > 0
        ? h("details", null, h("summary", null, "Where it was computed"),
            table("Provenance", [{ name: "version" }, { name: "commit" }, { name: "machine" }, { name: "when" }, { name: "seed", numeric: true }, { name: "replications", numeric: true }, { name: "computing", numeric: true }],
              sweep.origins.map((origin) => [origin.version, origin.commit ? h("code", null, origin.commit) : "–", origin.machine, moment(origin.when), origin.seed === null ? "–" : String(origin.seed), figure(origin.replications), duration(origin.computing_seconds)])))
        : null,
    );
  };

  const verdicts = (sweep: Sweep): string => {
    const counts = new Map<string, number>();
    for (const { verdict } of sweep.claims) counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
    return [...counts].map(([verdict, count]) => `${count} ${verdict}`).join(", ");
  };

  const endEvents = page.listen("sweep", (data) => {
    const sweep = data as Sweep;
    const before = known.find((other) => other.id === sweep.id);
    // One that is resumed has another number, and stands for the one before.
    const resumed = known.filter((other) => other.id !== sweep.id && other.experiment === sweep.experiment && other.store === sweep.store);
    for (const { id } of resumed) cards.querySelector(`[data-sweep="${CSS.escape(id)}"]`)?.remove();
    known = known.filter((other) => !resumed.includes(other));
    known = before ? known.map((other) => (other.id === sweep.id ? sweep : other)) : [sweep, ...known];
    const there = cards.querySelector(`[data-sweep="${CSS.escape(sweep.id)}"]`);
    const next = card(sweep);
    if (there) there.replaceWith(next);
    else {
      cards.querySelector(":scope > .quiet")?.remove();
      cards.prepend(next);
    }
    if (before?.state === "running" && sweep.state !== "running") page.announce(`The sweep of ${sweep.experiment} is ${STATES[sweep.state]}`);
  });

  // Another process tells nobody that it has added to a store.
  const look = window.setInterval(() => {
    if (document.hidden) return;
    void get<Sweep[]>("/api/sweeps").then((found) => {
      for (const sweep of found) {
        const before = known.find((other) => other.id === sweep.id);
        if (before && JSON.stringify(before) === JSON.stringify(sweep)) continue;
        const there = cards.querySelector(`[data-sweep="${CSS.escape(sweep.id)}"]`);
        if (there) there.replaceWith(card(sweep));
        else {
          cards.querySelector(":scope > .quiet")?.remove();
          cards.prepend(card(sweep));
        }
      }
      for (const { id } of known) if (!found.some((sweep) => sweep.id === id)) cards.querySelector(`[data-sweep="${CSS.escape(id)}"]`)?.remove();
      known = found;
    }, () => undefined);
  }, 3000);

  form();
  void page.refresh().then(form, () => undefined);
  void load();
  return {
    element,
    update(next) {
      query = next;
      form();
    },
    end() {
      window.clearInterval(look);
      endEvents();
    },
  };
}

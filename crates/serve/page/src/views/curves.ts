// The curves of an experiment: what was measured, with its intervals, and what stands behind each point.

import uPlot from "uplot";

import { changed, format, list, noSuch, TABS, wrongName } from "../address.ts";
import type { Query } from "../address.ts";
import { get, post } from "../api.ts";
import type { CurvePoint, Curves, Distribution, Recorded, Tabled } from "../api.ts";
import { button, checkbox, choice, download, facts, figure, fill, h, refill, select, swatch, table, tick, withInterval } from "../dom.ts";
import type { Child } from "../dom.ts";
import { categories, isDark, onTheme, palette } from "../draw/colour.ts";
import { marksOf, svgOf } from "../draw/picture.ts";
import { usualStore } from "./choosing.ts";
import { awaiting, giveUp, link, problem, section } from "../view.ts";
import type { Page, View } from "../view.ts";

/** The parts of latency, from the beginning of a message on. */
const PARTS = ["queueing", "startup", "network", "blocking"] as const;
const PART_COLOURS = [3, 5, 2, 1];

/** How lines are dashed once all colours are taken. */
const DASHES: readonly (readonly number[])[] = [[], [8, 4], [2, 4], [10, 4, 2, 4], [16, 4]];

export function curves(page: Page, first: Query): View {
  let query = first;
  /** Whether the address of these curves was opened, and not made by what was chosen here. */
  let opened = true;
  let shown: { key: string; curves: Curves } | null = null;
  let plot: uPlot | null = null;
  let small: uPlot | null = null;
  let replayEnd: (() => void) | null = null;
  /** What is said of the recording of a point, and of which: it stays while the panel is made anew. */
  let recording = { of: "", place: h("div", null) };
  const chart = h("div", { class: "chart" });
  const legend = h("div", { class: "series" });
  const lower = h("div", { class: "lower" });
  const panel = h("aside", { class: "panel", "aria-label": "About the curves" });
  const bar = h("div", { class: "bar slim" });
  const plotBox = h("div", { class: "plot-box" }, chart);
  const element = h("div", { class: "split curves" }, h("div", { class: "stage scrolls" }, bar, plotBox, legend, lower), panel);

  const experiment = (): string | null => query.experiment ?? (page.info.open?.kind === "experiment" ? page.info.open.path : null);
  const store = (): string | null => query.store ?? usualStore(page.info);
  const hidden = (): Set<string> => new Set(list(query.hide, ";"));
  /** Whether the vertical axis is logarithmic: as the address says, or else the experiment. */
  const isLog = (): boolean => query.log === "1" || (query.log !== "0" && (shown?.curves.y.log ?? false));

  /** Which curves are asked for. */
  const asked = (): string => JSON.stringify([experiment(), store(), query.y]);

  const change = (changes: Record<string, string | number | null>, again = true): void => {
    const before = asked();
    query = changed(query, changes);
    if (asked() !== before) opened = false;
    page.set(changes);
    if (again) load();
  };

  const load = (): void => {
    // What is awaited is of an address that was left.
    giveUp(chart);
    controls();
    const [file, from] = [experiment(), store()];
    const key = asked();
    if (shown?.key === key) {
      show();
      return;
    }
    // Not before: what is still wrong would be read out again.
    page.wrong([]);
    if (!file || !from) {
      plot?.destroy();
      plot = null;
      shown = null;
      const experiments = page.info.items.filter((item) => item.kind === "experiment");
      fill(chart, h("div", { class: "text" }, h("h1", null, "Which curves?"),
        from ? null : h("p", null, "There is no store in this folder yet: run a sweep first."),
        experiments.length === 0 ? h("p", null, "There is no experiment in this folder. Where there is a store alone, the experiment is often in the folder above: serve that one, as in ", h("code", null, "wormcast serve ."), ".") : h("ul", null, ...experiments.map((item) => {
          const to = { experiment: item.path, ...(from ? { store: from } : {}) };
          return h("li", null, link(page, from ? "curves" : "sweeps", to, format(from ? "curves" : "sweeps", to), item.path));
        }))));
      panel.replaceChildren();
      legend.replaceChildren();
      lower.replaceChildren();
      return;
    }
    void awaiting(chart, "Reading the store", (signal) => get<Curves | Tabled>("/api/curves", { experiment: file, store: from, y: query.y }, signal), (found) => {
      page.title(found.title);
      if (!hasPlot(found)) {
        shown = null;
        plot?.destroy();
        plot = null;
        controls();
        fill(chart, h("p", { class: "quiet" }, `${found.notes[0] ?? "there is nothing to plot"}; below is the table`));
        legend.replaceChildren();
        panel.replaceChildren();
        fill(lower, allColumns(found.table));
        return;
      }
      shown = { key, curves: found };
      if (!opened) drop();
      // Its names may be others.
      legend.replaceChildren();
      controls();
      show();
    }).then(() => {
      if (chart.querySelector(".problem")) {
        shown = null;
        panel.replaceChildren();
        legend.replaceChildren();
        lower.replaceChildren();
      }
    });
  };

  /** Leaves out of the address what these curves do not have: whoever chose them did not ask for it. */
  const drop = (): void => {
    const names = new Set(shown?.curves.series.map(({ name }) => name));
    const changes = { hide: list(query.hide, ";").filter((name) => names.has(name)).join(";"), point: chosen() ? query.point : null };
    query = changed(query, changes);
    page.set(changes, true);
  };

  const controls = (): void => {
    const options = (kind: string): { value: string; text: string }[] => page.info.items.filter((item) => item.kind === kind).map((item) => ({ value: item.path, text: item.path }));
    const quantities = [...new Set([...(shown?.curves.quantities ?? []), ...(shown ? [shown.curves.y.name] : [])])];
    refill(
      bar,
      select("Experiment", [{ value: "", text: "choose …" }, ...options("experiment")], experiment() ?? "", (value) => change({ experiment: value, y: null, hide: null, point: null })),
      select("Store", [{ value: "", text: "choose …" }, ...options("store")], store() ?? "", (value) => change({ store: value, point: null })),
      select("Shows", quantities.map((name) => ({ value: name, text: name })), query.y ?? shown?.curves.y.name ?? "", (value) => change({ y: value }), { disabled: quantities.length === 0 }),
      h("div", { class: "field" }, h("span", null, " "), checkbox("logarithmic", isLog(), (on) => change({ log: on === (shown?.curves.y.log ?? false) ? null : on ? 1 : 0 }))),
    );
  };

  const show = (): void => {
    if (!shown) return;
    const { series } = shown.curves;
    const [some] = series.flatMap(({ name, points }) => points.map((point) => idOf(name, point)));
    page.wrong([
      ...list(query.hide, ";").map((name) => wrongName("curve", name, series.map(({ name }) => name))),
      query.point && !chosen() ? noSuch("point", query.point, `expected one such as ${some}`) : "",
    ]);
    draw();
    showLegend(null);
    showPanel();
    showLower();
  };

  /** What the linear axis reaches: the ends of intervals as well. One that is far longer than its mean is cut off, and marked. */
  const reach = (low: number, high: number): [number, number] => {
    const off = hidden();
    const ends = (shown as { curves: Curves }).curves.series.filter((series) => !off.has(series.name)).flatMap((series) => series.points.flatMap((point) => (point.mean === null || point.mean > high ? [] : [point.low ?? point.mean, point.high ?? point.mean])));
    return [Math.max(Math.min(0, low, ...ends), Math.min(0, low) - high), Math.min(Math.max(high, ...ends), 3 * Math.max(high, 0) || high)];
  };

  const paint = (i: number): string => categories()[i % categories().length];
  const dash = (i: number): readonly number[] => DASHES[Math.floor(i / categories().length) % DASHES.length];
  /** The key of a curve, dashed as it is. */
  const dress = (key: HTMLElement, i: number): HTMLElement => {
    let at = 0;
    const stops = dash(i).map((length, n) => `${n % 2 === 0 ? paint(i) : "transparent"} ${at}px ${(at += length)}px`);
    key.style.background = stops.length === 0 ? paint(i) : `repeating-linear-gradient(90deg, ${stops.join(", ")})`;
    // All as wide as the dashed ones, so that they stay in columns.
    key.style.width = (shown?.curves.series.length ?? 0) > categories().length ? "24px" : "";
    return key;
  };

  const draw = (): void => {
    const { curves } = shown as { curves: Curves };
    plot?.destroy();
    chart.replaceChildren();
    const log = isLog();
    const off = hidden();
    const xs = [...new Set(curves.series.flatMap((series) => series.points.map((point) => point.x)))].sort((a, b) => a - b);
    const columns = curves.series.map((series) => {
      const by = new Map(series.points.map((point) => [point.x, point]));
      return xs.map((x) => {
        const mean = by.get(x)?.mean ?? null;
        return mean !== null && (!log || mean > 0) ? mean : null;
      });
    });
    // Not on the canvas, where what does not fit into a line is cut off.
    const xLabel = h("p", { class: "axis-label" }, curves.x.label);
    const colours = palette();
    const grid = isDark() ? "#242b35" : "#e8ecf1";
    const axis = { stroke: colours.faint, values: (_: uPlot, at: (number | null)[]) => at.map(tick), grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 }, font: "12px system-ui, sans-serif", labelFont: LABEL_FONT };
    const width = Math.max(280, chart.clientWidth || 600);
    const height = heightFor(width);
    const above = isTooLong(curves.y.label, height);
    plot = new uPlot(
      {
        width,
        height,
        legend: { show: false },
        padding: [17 + 9 * Math.max(1, ...[...marksOf(curves.series.filter((series) => !off.has(series.name))).values()].map((row) => row + 1)), 14, 0, 4],
        scales: {
          x: curves.x.log ? { time: false, distr: 3 } : { time: false, range: (_, low, high) => { const space = (high - low || 1) * 0.04; return [low - space, high + space]; } },
          y: log ? { distr: 3 } : { range: (_, low, high) => { const [from, to] = reach(low, high); return [from, to + (to - from || 1) * 0.06]; } },
        },
        axes: [
          { ...axis, size: 32, space: 84 },
          // As wide as the longest number.
          { ...axis, label: above ? undefined : curves.y.label, size: (_, texts) => Math.max(62, 22 + 8 * Math.max(0, ...(texts ?? []).map((text) => text.length))), labelSize: 22 },
        ],
        series: [{}, ...curves.series.map((series, i) => ({ label: series.name, stroke: paint(i), dash: [...dash(i)], width: 2, spanGaps: true, show: !off.has(series.name), points: { show: false } }))],
        cursor: { points: { show: true, size: 11 }, y: false, drag: { x: true, y: false } },
        hooks: {
          draw: [
            (u) => {
              marks(u);
              // Below what it belongs to.
              xLabel.style.marginLeft = `${u.bbox.left / (window.devicePixelRatio || 1)}px`;
            },
          ],
          setCursor: [(u) => showLegend(u.cursor.idx ?? null)],
        },
      },
      [xs, ...columns],
      chart,
    );
    plot.over.addEventListener("click", (event) => pick(event.offsetX, event.offsetY));
    chart.append(xLabel);
    if (above) chart.prepend(h("p", { class: "axis-label above" }, curves.y.label));
    if (curves.series.every((series) => off.has(series.name))) chart.append(h("div", { class: "no-curve", role: "status" }, h("p", { class: "quiet" }, "All curves are switched off.")));
    plot.over.setAttribute("role", "img");
    plot.over.setAttribute("aria-label", `${curves.title}: ${curves.series.length} curves; the table below has their numbers`);
  };

  /** Points, intervals, and what is saturated: above, where no value is. */
  const marks = (u: uPlot): void => {
    const { curves } = shown as { curves: Curves };
    const ratio = window.devicePixelRatio || 1;
    const { ctx } = u;
    const off = hidden();
    const rows = marksOf(curves.series.filter((series) => !off.has(series.name)));
    ctx.save();
    curves.series.forEach((series, i) => {
      if (off.has(series.name)) return;
      const colour = paint(i);
      ctx.strokeStyle = colour;
      ctx.lineWidth = 1.5 * ratio;
      for (const point of series.points) {
        const x = u.valToPos(point.x, "x", true);
        if (x < u.bbox.left - 1 || x > u.bbox.left + u.bbox.width + 1) continue;
        const chosen = isChosen(series.name, point);
        if (point.mean === null) {
          const row = rows.get(point);
          if (row === undefined) continue;
          const y = u.bbox.top - (7 + 9 * row) * ratio;
          ctx.beginPath();
          ctx.moveTo(x - 5 * ratio, y + 4 * ratio);
          ctx.lineTo(x, y - 5 * ratio);
          ctx.lineTo(x + 5 * ratio, y + 4 * ratio);
          ctx.closePath();
          ctx.stroke();
          if (chosen) {
            ctx.fillStyle = colour;
            ctx.fill();
          }
          continue;
        }
        const y = u.valToPos(point.mean, "y", true);
        if (point.low !== null && point.high !== null) {
          // What lies outside of the plot is cut off, as when an interval is wider than the axis.
          const within = (y: number): number => Math.max(u.bbox.top, Math.min(u.bbox.top + u.bbox.height, y));
          const [low, high] = [u.valToPos(Math.max(point.low, isLog() ? point.mean / 100 : -Infinity), "y", true), u.valToPos(point.high, "y", true)];
          ctx.beginPath();
          ctx.moveTo(x, within(low));
          ctx.lineTo(x, within(high));
          for (const end of [low, high]) {
            const cut = within(end);
            if (end !== cut) {
              // An arrow: it goes on.
              const back = (end < cut ? 7 : -7) * ratio;
              ctx.moveTo(x - 5 * ratio, cut + back);
              ctx.lineTo(x, cut);
              ctx.lineTo(x + 5 * ratio, cut + back);
              continue;
            }
            ctx.moveTo(x - 4 * ratio, end);
            ctx.lineTo(x + 4 * ratio, end);
          }
          ctx.stroke();
        }
        ctx.beginPath();
        ctx.arc(x, y, (chosen ? 6.5 : 4) * ratio, 0, 2 * Math.PI);
        ctx.fillStyle = point.unsettled ? palette().ground : colour;
        ctx.fill();
        ctx.stroke();
      }
    });
    ctx.restore();
  };

  const idOf = (series: string, point: CurvePoint): string => `${point.x};${series}`;
  const isChosen = (series: string, point: CurvePoint): boolean => query.point === idOf(series, point);
  const chosen = (): { series: string; i: number; point: CurvePoint } | null => {
    if (!shown || !query.point) return null;
    for (const [i, series] of shown.curves.series.entries()) for (const point of series.points) if (isChosen(series.name, point)) return { series: series.name, i, point };
    return null;
  };

  /** The point that is nearest to a place on the plot. */
  const pick = (px: number, py: number): void => {
    if (!plot || !shown) return;
    const off = hidden();
    let best: string | null = null;
    let least = 30 ** 2;
    shown.curves.series.forEach((series, i) => {
      if (off.has(series.name)) return;
      for (const point of series.points) {
        const [x, y] = [(plot as uPlot).valToPos(point.x, "x"), point.mean === null ? -7 - (i % 2) * 9 : (plot as uPlot).valToPos(point.mean, "y")];
        const distance = (x - px) ** 2 + (y - py) ** 2;
        if (distance < least && (point.mean !== null || point.saturated || point.deadlocked)) {
          least = distance;
          best = idOf(series.name, point);
        }
      }
    });
    if (best !== null) change({ point: best });
  };

  /** The series with their switches, and their values at the pointer. */
  const showLegend = (index: number | null): void => {
    if (!shown) return;
    const { curves } = shown;
    const off = hidden();
    const x = index === null || !plot ? null : (plot.data[0][index] as number);
    if (legend.childElementCount !== curves.series.length + 1) {
      fill(legend, ...curves.series.map((series, i) => {
        const item = checkbox(h("span", { class: "marked" }, dress(swatch(""), i), h("span", null, series.name), h("b", { class: "value" })), !off.has(series.name), (on) => {
          const next = hidden();
          if (on) next.delete(series.name);
          else next.add(series.name);
          change({ hide: curves.series.map(({ name }) => name).filter((name) => next.has(name)).join(";") || null });
        });
        return item;
      }), h("span", { class: "quiet at" }));
    }
    curves.series.forEach((series, i) => {
      const item = legend.children[i];
      (item.querySelector("input") as HTMLInputElement).checked = !off.has(series.name);
      dress(item.querySelector(".swatch") as HTMLElement, i);
      const value = item.querySelector(".value") as HTMLElement;
      const point = x === null ? undefined : series.points.find((other) => other.x === x);
      value.textContent = point ? said(point) : "";
    });
    (legend.lastElementChild as HTMLElement).textContent = x === null ? "Point at the plot to read values; click a point for what is behind it." : `at ${curves.x.label} ${figure(x)}`;
  };

  const said = (point: CurvePoint): string => {
    if (point.mean === null) return point.deadlocked ? "deadlocked" : point.saturated ? "saturated" : "–";
    const mean = withInterval(point.mean, point.low !== null && point.high !== null ? [point.low, point.high] : null);
    // Where others have one, as in plots.
    const known = point.low === null && shown?.curves.notes.some((note) => note.includes("marked ?")) ? `${mean} ?` : mean;
    if (point.saturated) return `${known}, saturated`;
    return point.unsettled ? `${known}, unsettled` : known;
  };

  const showPanel = (): void => {
    const { curves } = shown as { curves: Curves };
    const at = chosen();
    const parts: Child[] = [];
    const of = at ? JSON.stringify([experiment(), store(), idOf(at.series, at.point)]) : "";
    if (of !== recording.of) {
      replayEnd?.();
      replayEnd = null;
      recording = { of, place: h("div", null) };
    }
    if (at) {
      const replayPlace = recording.place;
      parts.push(
        h("section", { class: "part follow" },
          h("h2", null, h("span", { class: "marked" }, dress(swatch(""), at.i), at.series), button("×", () => change({ point: null }), { class: "close", "aria-label": "Choose no point" })),
          facts([
            [curves.x.label, figure(at.point.x)],
            [curves.y.label, h("b", null, said(at.point))],
            ["replications", figure(at.point.replications)],
            ...(at.point.unsettled && !at.point.saturated ? ([["unsettled", "the mean still depends on the window"]] as [string, string][]) : []),
            ...at.point.settings.filter(({ key }) => key !== curves.x.name).map(({ key, value }): [string, string] => [key, typeof value === "string" ? value : JSON.stringify(value)]),
          ]),
          ...(curves.simulated
            ? [
                h("div", { class: "row-of" }, button("Replay this point", () => record(at.point, replayPlace), { class: "primary" })),
                h("p", { class: "quiet" }, "One of its runs is recorded, with every worm: one that deadlocks, if there is one."),
                replayPlace,
              ]
            : [])),
      );
    }
    if (at && curves.simulated) {
      const distribution = h("div", null);
      parts.push(section("Latency of its messages", distribution));
      const [file, from] = [experiment(), store()];
      void awaiting(distribution, "Reading the latencies", (signal) => get<Distribution>("/api/distribution", { experiment: file, store: from, point: at.point.point }, signal), (found) => showDistribution(distribution, found, paint(at.i)));
    } else if (!at) {
      const behind = curves.simulated ? "its distribution of latencies, its parts, and a replay of one run of it" : "its value and its settings";
      parts.push(section("A point", h("p", { class: "quiet" }, `Click a point of a curve: ${behind}.`)));
    }
    const name = (experiment() ?? "curves").replace(/^.*\//, "").replace(/\.toml$/, "");
    parts.push(
      section("Download", h("div", { class: "row-of" },
        button("SVG", () => download(`${name}.svg`, new Blob([svgOf(curves, LIGHT, hidden(), isLog())], { type: "image/svg+xml" }))),
        button("PNG", () => void png(name)),
        button("CSV", () => download(`${name}.csv`, new Blob([curves.csv], { type: "text/csv" }))))),
      curves.notes.length > 0 ? section("Notes", ...curves.notes.map((note) => h("p", { class: "quiet" }, note))) : null,
      section("Signs", h("ul", { class: "signs" }, h("li", null, "● mean, with its interval; an arrow: the interval goes on"), h("li", null, "○ unsettled: depends on the window; a load: saturated"), h("li", null, "△ above: saturated or deadlocked there"))),
    );
    fill(panel, ...parts);
  };

  const png = async (name: string): Promise<void> => {
    const { curves } = shown as { curves: Curves };
    const picture = new Image();
    const address = URL.createObjectURL(new Blob([svgOf(curves, LIGHT, hidden(), isLog())], { type: "image/svg+xml" }));
    picture.src = address;
    try {
      await picture.decode();
      const canvas = document.createElement("canvas");
      canvas.width = 2 * picture.naturalWidth;
      canvas.height = 2 * picture.naturalHeight;
      const context = canvas.getContext("2d") as CanvasRenderingContext2D;
      context.scale(2, 2);
      context.drawImage(picture, 0, 0);
      canvas.toBlob((blob) => blob && download(`${name}.png`, blob), "image/png");
    } finally {
      URL.revokeObjectURL(address);
    }
  };

  /** One run of a point, recorded by the server; then its replay. */
  const record = (point: CurvePoint, place: HTMLElement): void => {
    fill(place, h("p", { class: "quiet", role: "status" }, "Recording a run …"));
    void awaiting(place, "Recording a run", () => post<Recorded>("/api/replay", { experiment: experiment(), store: store(), set: Object.fromEntries(point.settings.map(({ key, value }) => [key, value])) }), ({ file, state, replication, seed, deadlocked }) => {
      const status = h("p", { class: "quiet", role: "status" }, "Recording a run …");
      const which = h("p", { class: "quiet" }, `${replication === null ? "Seed" : `Replication ${replication}, seed`} ${seed}${deadlocked ? ", which deadlocks" : ""}.`);
      const stop = button("Stop", () => {
        stop.disabled = true;
        post("/api/replay/stop", { file }).catch((error: unknown) => fill(place, problem(error)));
      });
      fill(place, status, which, ...(state === "done" ? [] : [stop]));
      const to = { file };
      const ready = (): void => {
        replayEnd?.();
        replayEnd = null;
        void page.refresh();
        fill(place, link(page, "replay", to, format("replay", to), "Open the replay"), which);
        page.announce("The replay is ready");
      };
      if (state === "done") {
        ready();
        return;
      }
      replayEnd = page.listen("replay", (data) => {
        const event = data as { file: string; state: string; cycle?: number; messages?: number; error?: string | null };
        if (event.file !== file) return;
        if (event.state === "failed") fill(place, problem(new Error(event.error ?? "the run failed")));
        else if (event.state === "stopped") {
          fill(place, h("p", { class: "quiet", role: "status" }, "The recording was stopped; nothing of it is kept."));
          page.announce("The recording was stopped");
        }
        else if (event.state === "done") ready();
        else status.textContent = `Recording a run: cycle ${figure(event.cycle ?? 0)}, ${figure(event.messages ?? 0)} messages`;
      });
    });
  };

  const showDistribution = (place: HTMLElement, { quantiles, parts, replications }: Distribution, colour: string): void => {
    small?.destroy();
    small = null;
    const box = h("div", { class: "small-chart" });
    const rows = PARTS.filter((part) => parts && parts[part] !== undefined);
    fill(place, quantiles.length > 1 ? box : h("p", { class: "quiet" }, "There are no latencies of this point."), rows.length > 0 && parts ? stacked([{ name: "", parts: rows.map((part) => parts[part] as number) }], "cycles") : null,
      quantiles.length > 1
        ? table(`Quantiles of the latency, of the messages of all ${figure(replications)} replications together; the columns of the CSV are estimates from each replication’s own`, [{ name: "share of messages" }, { name: "latency, cycles", numeric: true }], [0.05, 0.25, 0.5, 0.75, 0.95, 0.99].map((share) => [`${figure(100 * share)}%`, figure((quantiles.find(([reached]) => reached >= share - 1e-9) ?? quantiles[quantiles.length - 1])[1])]), { class: "numbers" })
        : null);
    if (quantiles.length < 2) return;
    const colours = palette();
    const grid = isDark() ? "#242b35" : "#e8ecf1";
    const axis = { stroke: colours.faint, values: (_: uPlot, at: (number | null)[]) => at.map(tick), grid: { stroke: grid, width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif", labelFont: "11.5px system-ui, sans-serif" };
    small = new uPlot(
      {
        width: Math.max(240, box.clientWidth || 300), height: 190, legend: { show: false }, padding: [8, 10, 0, 0],
        scales: { x: { time: false }, y: { range: [0, 1] } },
        axes: [{ ...axis, label: "latency, cycles", size: 26, labelSize: 18, space: 60 }, { ...axis, size: 38, values: (_, ticks) => ticks.map((share) => `${Math.round(100 * share)}%`) }],
        series: [{}, { stroke: colour, width: 2, fill: `${colour}22`, points: { show: false } }],
        cursor: { y: false, drag: { x: false, y: false } },
      },
      [quantiles.map(([, latency]) => latency), quantiles.map(([share]) => share)],
      box,
    );
  };

  /** Bars of parts of latency. */
  const stacked = (bars: { name: string; parts: number[] }[], unit: string): HTMLElement => {
    const most = Math.max(1e-12, ...bars.map((bar) => bar.parts.reduce((sum, part) => sum + part, 0)));
    return h("div", { class: "stacked" },
      h("div", { class: "keyed" }, ...PARTS.map((part, i) => h("span", null, swatch(categories()[PART_COLOURS[i]]), part))),
      ...bars.map((bar) => {
        const total = bar.parts.reduce((sum, part) => sum + part, 0);
        const strip = h("div", { class: "stack", role: "img", "aria-label": PARTS.map((part, i) => `${part} ${figure(bar.parts[i])}`).join(", ") });
        bar.parts.forEach((value, i) => {
          const piece = h("span", { title: `${PARTS[i]} ${figure(value)} ${unit}` });
          piece.style.width = `${(100 * value) / most}%`;
          piece.style.background = categories()[PART_COLOURS[i]];
          strip.append(piece);
        });
        return h("div", { class: "stack-row" }, bar.name ? h("span", { class: "stack-name" }, bar.name) : null, strip, h("span", { class: "stack-total" }, figure(total)));
      }));
  };

  const showLower = (): void => {
    const { curves } = shown as { curves: Curves };
    const { columns, rows } = curves.table;
    const tab = TABS.find((name) => name === query.tab) ?? "values";
    const content = h("div", null);
    fill(lower, choice("Below the plot", [{ value: "values", text: "values" }, { value: "parts", text: "parts of latency" }, { value: "all", text: "all columns" }], tab, (value) => change({ tab: value === "values" ? null : value })), content);
    const off = hidden();
    if (tab === "values") {
      const xs = [...new Set(curves.series.flatMap((series) => series.points.map((point) => point.x)))].sort((a, b) => a - b);
      fill(content, table(`${curves.y.label} by ${curves.x.label}`, [{ name: curves.x.label, numeric: true }, ...curves.series.map((series) => ({ name: series.name, numeric: true }))],
        xs.map((x) => [figure(x), ...curves.series.map((series): Child => {
          const point = series.points.find((other) => other.x === x);
          if (!point) return "";
          return h("button", { type: "button", class: "plain", "data-point": idOf(series.name, point), onclick: () => change({ point: idOf(series.name, point) }) }, said(point));
        })]), { class: "numbers values" }));
    } else if (tab === "all") {
      fill(content, allColumns(curves.table));
    } else {
      const at = PARTS.map((part) => columns.indexOf(`${part}_cycles`));
      const outcome = columns.indexOf("outcome");
      const settings = columns.slice(0, outcome < 0 ? 2 : outcome);
      const bars = rows.filter((row) => at.every((column) => column >= 0 && row[column] !== null && row[column] !== "") && !off.has(String(row[0])))
        .map((row) => ({ name: settings.map((_, i) => String(row[i])).join("  "), parts: at.map((column) => Number(row[column])) }));
      fill(content, bars.length === 0 ? h("p", { class: "quiet" }, "There are no parts of latency in this table.") : [h("p", { class: "quiet" }, "Where the latency to the last destination goes, in cycles; points that are saturated have none."), stacked(bars, "cycles")]);
    }
  };

  const resize = new ResizeObserver(() => {
    const width = Math.max(280, chart.clientWidth);
    if (!plot || !shown || Math.abs(plot.width - width) <= 1) return;
    const { label } = shown.curves.y;
    if (isTooLong(label, plot.height) === isTooLong(label, heightFor(width))) plot.setSize({ width, height: heightFor(width) });
    else draw();
  });
  resize.observe(plotBox);
  const endTheme = onTheme(() => show());
  load();
  return {
    element,
    update(next) {
      query = next;
      opened = true;
      load();
    },
    end() {
      giveUp(chart);
      resize.disconnect();
      endTheme();
      replayEnd?.();
      plot?.destroy();
      small?.destroy();
    },
  };
}

/** The table of a sweep, as the command writes it. */
function allColumns({ columns, rows }: Curves["table"]): HTMLElement {
  const shown = (cell: string | number | boolean | null): string => (typeof cell === "number" ? figure(cell) : cell === null ? "" : String(cell));
  return table("The table of the sweep", columns.map((name, i) => ({ name, numeric: rows.some((row) => typeof row[i] === "number") })), rows.map((row) => row.map(shown)), { class: "numbers" });
}

/** Whether there is something to draw. */
function hasPlot(found: Curves | Tabled): found is Curves {
  return "series" in found;
}

function heightFor(width: number): number {
  return Math.max(280, Math.min(520, Math.round(width * 0.56)));
}

const LABEL_FONT = "12.5px system-ui, sans-serif";

/** Whether the title of the vertical axis is longer than a plot of this height: it stands above it then. */
function isTooLong(label: string, height: number): boolean {
  const context = document.createElement("canvas").getContext("2d") as CanvasRenderingContext2D;
  context.font = LABEL_FONT;
  return context.measureText(label).width > height - 24;
}

/** Downloads are for paper: light whatever the page is. */
const LIGHT = ["#0072b2", "#d98200", "#009e73", "#b0559a", "#3c9bd6", "#7a6a00", "#5a5fc7"];

// A plot of curves as an SVG text: what is downloaded. Pure, so that tests can read it.

import { scaleLinear, scaleLog } from "d3-scale";
import type { ScaleContinuousNumeric } from "d3-scale";

import type { CurvePoint, Curves } from "../api.ts";

type Scale = ScaleContinuousNumeric<number, number>;

/** A scale over values, from 0 on unless it is logarithmic. */
export function scaleOf(values: readonly number[], log: boolean, range: [number, number]): Scale {
  const good = values.filter((value) => Number.isFinite(value) && (!log || value > 0));
  const [low, high] = good.length === 0 ? [1, 10] : [Math.min(...good), Math.max(...good)];
  const scale: Scale = log ? scaleLog().domain([low, high > low ? high : low * 2]) : scaleLinear().domain([Math.min(0, low), high > Math.min(0, low) ? high : low + 1]).nice(7);
  return scale.range(range);
}

/** Round numbers on it; on a logarithmic one powers of ten, twice and five times these. */
export function ticksOf(scale: Scale, log: boolean): number[] {
  return log ? scale.ticks(40).filter((tick) => [1, 2, 5].includes(Number(tick.toExponential(3).split("e")[0]))) : scale.ticks(7);
}

/** Points without a mean that are marked above the plot, at each x one above the other: their rows, from 0. */
export function marksOf(series: Curves["series"]): Map<CurvePoint, number> {
  const rows = new Map<CurvePoint, number>();
  const taken = new Map<number, number>();
  for (const { points } of series) {
    for (const point of points) {
      if (point.mean !== null || (!point.saturated && !point.deadlocked)) continue;
      const row = taken.get(point.x) ?? 0;
      rows.set(point, row);
      taken.set(point.x, row + 1);
    }
  }
  return rows;
}

export function escaped(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");
}

/** The plot of all series that are not hidden, on white. */
export function svgOf(curves: Pick<Curves, "title" | "x" | "y" | "series" | "notes">, colours: readonly string[], hidden: ReadonlySet<string>, log: boolean): string {
  const marks = marksOf(curves.series.filter((series) => !hidden.has(series.name)));
  const rows = Math.max(1, ...[...marks.values()].map((row) => row + 1));
  const [top, bottom] = [43 + 9 * rows, 60 + 17 * curves.notes.length];
  const [width, height, left, right] = [760, 368 + top + bottom, 74, 24];
  const shown = curves.series.map((series, i) => ({ ...series, colour: colours[i % colours.length] })).filter((series) => !hidden.has(series.name));
  const points = shown.flatMap((series) => series.points);
  const x = scaleOf(points.map((point) => point.x), curves.x.log, [left, width - right]);
  const y = scaleOf(points.flatMap((point) => (point.mean === null ? [] : [point.mean, point.low ?? point.mean, point.high ?? point.mean])), log, [height - bottom, top]);
  const n = (value: number): string => value.toFixed(2);
  const parts: string[] = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="13">`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    `<text x="${left}" y="24" font-size="16" font-weight="600" fill="#1c2430">${escaped(curves.title)}</text>`,
  ];
  for (const tick of ticksOf(x, curves.x.log)) parts.push(`<text x="${n(x(tick))}" y="${height - bottom + 18}" text-anchor="middle" fill="#5a6575">${tick}</text>`);
  for (const tick of ticksOf(y, log)) {
    parts.push(`<line x1="${left}" x2="${width - right}" y1="${n(y(tick))}" y2="${n(y(tick))}" stroke="#e3e8ee"/>`);
    parts.push(`<text x="${left - 8}" y="${n(y(tick) + 4)}" text-anchor="end" fill="#5a6575">${tick}</text>`);
  }
  parts.push(`<text x="${(left + width - right) / 2}" y="${height - bottom + 44}" text-anchor="middle" fill="#1c2430">${escaped(curves.x.label)}</text>`);
  parts.push(`<text transform="translate(18 ${(top + height - bottom) / 2}) rotate(-90)" text-anchor="middle" fill="#1c2430">${escaped(curves.y.label)}</text>`);
  for (const series of shown) {
    const drawn = series.points.filter((point) => point.mean !== null && (!log || point.mean > 0));
    const line = drawn.map((point) => `${n(x(point.x))},${n(y(point.mean as number))}`).join(" ");
    if (drawn.length > 1) parts.push(`<polyline points="${line}" fill="none" stroke="${series.colour}" stroke-width="2"/>`);
    for (const point of drawn) {
      // On a logarithmic axis an interval that reaches 0 goes down to the bottom.
      if (point.low !== null && point.high !== null) parts.push(`<line x1="${n(x(point.x))}" x2="${n(x(point.x))}" y1="${n(log && point.low <= 0 ? height - bottom : y(point.low))}" y2="${n(y(point.high))}" stroke="${series.colour}" stroke-width="1.5"/>`);
      parts.push(`<circle cx="${n(x(point.x))}" cy="${n(y(point.mean as number))}" r="4" fill="${point.unsettled ? "#fff" : series.colour}" stroke="${series.colour}" stroke-width="1.5"/>`);
    }
    for (const point of series.points) if (marks.has(point)) parts.push(`<path d="M${n(x(point.x) - 5)} ${top - 4 - 9 * (marks.get(point) as number)}l5 -8l5 8z" fill="none" stroke="${series.colour}" stroke-width="1.5"/>`);
  }
  shown.forEach((series, i) => parts.push(`<rect x="${left + 12}" y="${top + 8 + 19 * i}" width="12" height="12" rx="3" fill="${series.colour}"/><text x="${left + 30}" y="${top + 18.5 + 19 * i}" fill="#1c2430">${escaped(series.name)}</text>`));
  curves.notes.forEach((note, i) => parts.push(`<text x="${left}" y="${height - bottom + 64 + 17 * i}" font-size="12" fill="#5a6575">${escaped(note)}</text>`));
  parts.push("</svg>");
  return parts.join("\n");
}

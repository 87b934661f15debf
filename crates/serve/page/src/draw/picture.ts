// A plot of curves as an SVG text: what is downloaded. Pure, so that tests can read it.

import type { Curves } from "../api.ts";

export interface Scale {
  ticks: number[];
  low: number;
  high: number;
}

/** Round numbers over a range, at most `most` of them or so; powers of ten and their halves on a logarithmic axis. */
export function scaleOf(values: readonly number[], log: boolean, most = 7): Scale {
  const good = values.filter((value) => Number.isFinite(value) && (!log || value > 0));
  if (good.length === 0) return { ticks: [0, 1], low: 0, high: 1 };
  let [low, high] = [Math.min(...good), Math.max(...good)];
  if (log) {
    const ticks: number[] = [];
    const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
    for (let power = first; power <= last; power++) {
      for (const step of [1, 2, 5]) {
        const tick = Number(`${step}e${power}`);
        if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push(tick);
      }
    }
    return { ticks: ticks.length >= 2 ? ticks : [low, high], low, high };
  }
  low = Math.min(0, low);
  if (high === low) high = low + 1;
  const rough = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= rough) ?? rough;
  const ticks: number[] = [];
  for (let i = Math.ceil(low / step); i * step <= high * 1.0001; i++) ticks.push(Number((i * step).toPrecision(12)));
  return { ticks, low, high: Math.max(high, ticks[ticks.length - 1]) };
}

export function escaped(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");
}

export function axisName({ name, unit }: { name: string; unit: string }): string {
  return unit ? `${name} (${unit})` : name;
}

/** The plot of all series that are not hidden, on white. */
export function svgOf(curves: Curves, colours: readonly string[], hidden: ReadonlySet<string>, log: boolean): string {
  const [width, height, left, right, top, bottom] = [760, 480, 74, 24, 52, 60];
  const shown = curves.series.map((series, i) => ({ ...series, colour: colours[i % colours.length] })).filter((series) => !hidden.has(series.name));
  const points = shown.flatMap((series) => series.points);
  const xs = scaleOf(points.map((point) => point.x), false);
  const ys = scaleOf(points.flatMap((point) => (point.mean === null ? [] : [point.mean, point.low ?? point.mean, point.high ?? point.mean])), log);
  const x = (value: number): number => left + ((value - xs.low) / (xs.high - xs.low || 1)) * (width - left - right);
  const along = (value: number): number => (log ? (Math.log(value) - Math.log(ys.low)) / (Math.log(ys.high) - Math.log(ys.low) || 1) : (value - ys.low) / (ys.high - ys.low || 1));
  const y = (value: number): number => height - bottom - along(value) * (height - top - bottom);
  const n = (value: number): string => value.toFixed(2);
  const parts: string[] = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="13">`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    `<text x="${left}" y="24" font-size="16" font-weight="600" fill="#1c2430">${escaped(curves.title)}</text>`,
  ];
  for (const tick of xs.ticks) parts.push(`<text x="${n(x(tick))}" y="${height - bottom + 18}" text-anchor="middle" fill="#5a6575">${tick}</text>`);
  for (const tick of ys.ticks) {
    parts.push(`<line x1="${left}" x2="${width - right}" y1="${n(y(tick))}" y2="${n(y(tick))}" stroke="#e3e8ee"/>`);
    parts.push(`<text x="${left - 8}" y="${n(y(tick) + 4)}" text-anchor="end" fill="#5a6575">${tick}</text>`);
  }
  parts.push(`<text x="${(left + width - right) / 2}" y="${height - 16}" text-anchor="middle" fill="#1c2430">${escaped(axisName(curves.x))}</text>`);
  parts.push(`<text transform="translate(18 ${(top + height - bottom) / 2}) rotate(-90)" text-anchor="middle" fill="#1c2430">${escaped(axisName(curves.y))}</text>`);
  for (const series of shown) {
    const drawn = series.points.filter((point) => point.mean !== null && (!log || point.mean > 0));
    const line = drawn.map((point) => `${n(x(point.x))},${n(y(point.mean as number))}`).join(" ");
    if (drawn.length > 1) parts.push(`<polyline points="${line}" fill="none" stroke="${series.colour}" stroke-width="2"/>`);
    for (const point of drawn) {
      if (point.low !== null && point.high !== null && (!log || point.low > 0)) parts.push(`<line x1="${n(x(point.x))}" x2="${n(x(point.x))}" y1="${n(y(point.low))}" y2="${n(y(point.high))}" stroke="${series.colour}" stroke-width="1.5"/>`);
      parts.push(`<circle cx="${n(x(point.x))}" cy="${n(y(point.mean as number))}" r="4" fill="${point.unsettled ? "#fff" : series.colour}" stroke="${series.colour}" stroke-width="1.5"/>`);
    }
    series.points.filter((point) => point.saturated).forEach((point) => parts.push(`<path d="M${n(x(point.x) - 5)} ${top - 4}l5 -8l5 8z" fill="none" stroke="${series.colour}" stroke-width="1.5"/>`));
  }
  shown.forEach((series, i) => parts.push(`<rect x="${left + 12}" y="${top + 8 + 19 * i}" width="12" height="12" rx="3" fill="${series.colour}"/><text x="${left + 30}" y="${top + 18.5 + 19 * i}" fill="#1c2430">${escaped(series.name)}</text>`));
  parts.push("</svg>");
  return parts.join("\n");
}

/** A table as CSV: fields with commas, quotes or line ends in quotes. */
export function csvOf(columns: readonly string[], rows: readonly (readonly (string | number | boolean | null)[])[]): string {
  const field = (value: string | number | boolean | null): string => {
    const text = value === null ? "" : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  };
  return [columns, ...rows].map((row) => `${row.map(field).join(",")}\n`).join("");
}

// A mesh as the server would send it.

import type { NetworkData } from "../src/api.ts";

export function mesh(columns: number, rows: number): NetworkData {
  const [from, to]: [number[], number[]] = [[], []];
  for (let y = 0; y < rows; y++) {
    for (let x = 0; x < columns; x++) {
      const router = y * columns + x;
      if (x > 0) { from.push(router); to.push(router - 1); }
      if (x + 1 < columns) { from.push(router); to.push(router + 1); }
      if (y > 0) { from.push(router); to.push(router - columns); }
      if (y + 1 < rows) { from.push(router); to.push(router + columns); }
    }
  }
  const routers = columns * rows;
  return {
    name: `mesh:${columns}x${rows}`, shape: "mesh", size: [columns, rows], wraps: false, routers, nodes: routers,
    x: Array.from({ length: routers }, (_, r) => 50 + 48 * (r % columns)),
    y: Array.from({ length: routers }, (_, r) => 50 + 48 * (rows - 1 - Math.floor(r / columns))),
    labels: null, node_router: Array.from({ length: routers }, (_, r) => r), node_labels: null, from, to,
    reverse: from.map((a, i) => from.findIndex((b, j) => b === to[i] && to[j] === a)), link_labels: null,
  };
}

/** A generator of whole numbers below `bound`, the same on every machine. */
export function draws(seed: number): (bound: number) => number {
  let state = seed;
  return (bound) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
}

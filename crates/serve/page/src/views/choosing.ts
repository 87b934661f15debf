// What several views let people choose: a topology, a routing or an algorithm.

import { get } from "../api.ts";
import type { Catalogue, Info } from "../api.ts";
import { h, input } from "../dom.ts";
import type { Option } from "../dom.ts";

let kept: Promise<Catalogue> | null = null;

/** The algorithms and routings that there are: asked for once. */
export function catalogue(): Promise<Catalogue> {
  kept ??= get<Catalogue>("/api/catalogue").catch((error: unknown) => {
    kept = null;
    throw error;
  });
  return kept;
}

const FORMS = ["mesh:8x8", "mesh:16x16", "torus:4x4", "torus:8x8", "hypercube:4", "bmin:4x3", "omega:2x3", "ring:6", "random:nodes=32,degree=4,seed=7"];

let lists = 0;

export function topologyField(info: Info, value: string, onchange: (topology: string) => void): HTMLElement {
  const id = `topologies-${lists++}`;
  const files = info.items.filter((item) => item.kind === "network").map((item) => item.path);
  return h("div", null, input("Topology", value, (text) => text && onchange(text), { list: id }), h("datalist", { id }, ...[...FORMS, ...files].map((form) => h("option", { value: form }))));
}

/** The store that is meant if none is named: the one that was opened, else the command's own, else the first. */
export function usualStore({ open, items }: Info): string | null {
  if (open?.kind === "store") return open.path;
  const stores = items.filter((item) => item.kind === "store").map((item) => item.path);
  return stores.find((path) => path === USUAL) ?? stores[0] ?? null;
}

/** Where `wormcast sweep` puts results. */
export const USUAL = "results/store.db";

/** The algorithms for a shape of networks, those that are for it by name before those for any; where the extents of a grid are given, for a grid of such extents. */
export function algorithmsFor(all: Catalogue, shape: string | null, size: readonly number[] | null = null): Option[] {
  const fits = (networks: string): boolean => {
    if (size === null) return true;
    if (networks.startsWith("2-D ")) return size.length === 2;
    return networks !== "square torus" || (size.length === 2 && size[0] === size[1]);
  };
  return all.algorithms
    .filter((algorithm) => (shape === null || algorithm.shapes.includes(shape)) && fits(algorithm.networks))
    .map((algorithm) => ({ value: algorithm.name, text: algorithm.name }));
}

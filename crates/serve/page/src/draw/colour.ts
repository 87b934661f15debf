// Colours: of measurements, of worms, of the page in light and dark.

import { interpolateInferno, interpolateYlOrRd } from "d3-scale-chromatic";

const dark = window.matchMedia("(prefers-color-scheme: dark)");

/** Whether the page is dark. */
export function isDark(): boolean {
  return dark.matches;
}

/** Calls back when the page becomes light or dark. Returns what ends that. */
export function onTheme(changed: () => void): () => void {
  dark.addEventListener("change", changed);
  return () => dark.removeEventListener("change", changed);
}

export interface Palette {
  ground: string;
  wire: string;
  router: string;
  routerEdge: string;
  text: string;
  faint: string;
  accent: string;
  dead: string;
  wait: string;
  source: string;
}

const LIGHT: Palette = {
  ground: "#ffffff",
  wire: "#d5dae1",
  router: "#eef1f5",
  routerEdge: "#9aa5b4",
  text: "#1c2430",
  faint: "#66707f",
  accent: "#0b62c4",
  dead: "#c4161c",
  wait: "#1c2430",
  source: "#1c2430",
};

const DARK: Palette = {
  ground: "#12161c",
  wire: "#333b47",
  router: "#222933",
  routerEdge: "#5d6979",
  text: "#e8ecf2",
  faint: "#98a3b3",
  accent: "#66aaff",
  dead: "#ff5a52",
  wait: "#e8ecf2",
  source: "#e8ecf2",
};

export function palette(): Palette {
  return isDark() ? DARK : LIGHT;
}

/** Of things that are told apart: Okabe and Ito's, which colour-blind people can tell apart, without the red that deadlocks have. */
const CATEGORIES_LIGHT = ["#0072b2", "#d98200", "#009e73", "#b0559a", "#3c9bd6", "#7a6a00", "#5a5fc7"];
const CATEGORIES_DARK = ["#56b4e9", "#e69f00", "#2fc49a", "#e08cc4", "#8ab8ff", "#f0e442", "#a9a4ff"];

export function categories(): readonly string[] {
  return isDark() ? CATEGORIES_DARK : CATEGORIES_LIGHT;
}

/** The colour of a message and of all its worms. */
export function ofMessage(message: number): number {
  return message % CATEGORIES_LIGHT.length;
}

/** How many steps a measurement is shown in. */
export const STEPS = 32;

/** Colours of a measurement, from nothing to most. Lightness alone tells them apart. */
export function ramp(): string[] {
  return Array.from({ length: STEPS }, (_, i) => {
    const t = i / (STEPS - 1);
    return isDark() ? interpolateInferno(0.2 + 0.78 * t) : interpolateYlOrRd(0.1 + 0.9 * t);
  });
}

// A network on a canvas: what lies below stays as it is while it does not move, what lives on it is drawn anew in every frame.

import { select } from "d3-selection";
import { zoom, zoomIdentity } from "d3-zoom";
import type { ZoomBehavior, ZoomTransform } from "d3-zoom";

import { h, icon } from "../dom.ts";
import { GAP, PIECE } from "../network.ts";
import type { Network } from "../network.ts";
import { onTheme, palette, ramp, STEPS } from "./colour.ts";

/** What is under the pointer. */
export type Hit = { kind: "router"; id: number } | { kind: "link"; id: number } | { kind: "node"; id: number };

export interface Handlers {
  /** Draws what lives on the network. */
  draw?: (pen: Pen) => void;
  /** What to say of what is under the pointer; null: nothing. */
  describe?: (hit: Hit) => string[] | null;
  click?: (hit: Hit | null, event: MouseEvent) => void;
  /** What screen readers say that the picture is. */
  label?: string;
}

/** Where drawings begin: at most this many pixels for a distance between neighbours, so that small networks are not huge. */
const LARGEST_PITCH = 128;

/** The canvas of a frame, and how the network lies on it. */
export class Pen {
  readonly context: CanvasRenderingContext2D;
  readonly network: Network;
  readonly k: number;
  readonly dx: number;
  readonly dy: number;
  readonly width: number;
  readonly height: number;

  constructor(context: CanvasRenderingContext2D, network: Network, k: number, dx: number, dy: number, width: number, height: number) {
    this.context = context;
    this.network = network;
    this.k = k;
    this.dx = dx;
    this.dy = dy;
    this.width = width;
    this.height = height;
  }

  /** Pixels between neighbours. */
  get pitch(): number {
    return this.network.unit * this.k;
  }

  /** The width of a channel, in pixels. */
  get thickness(): number {
    return Math.max(1, Math.min(7, 0.1 * this.pitch));
  }

  x(x: number): number {
    return x * this.k + this.dx;
  }

  y(y: number): number {
    return y * this.k + this.dy;
  }

  /** Draws channels in one colour. Channels along an axis are rectangles, which are fast to draw. `joined`: seen from afar, they go on through routers. */
  channels(links: ArrayLike<number>, count: number, colour: string, thickness: number, joined = false): void {
    const { context, network, k, dx, dy, width, height } = this;
    const { pieces, first } = network;
    context.fillStyle = colour;
    let slanted = false;
    const half = thickness / 2;
    const more = joined && this.pitch < 26 ? GAP * this.pitch + half : 0;
    for (let i = 0; i < count; i++) {
      const link = links[i];
      for (let piece = first[link] * PIECE; piece < first[link + 1] * PIECE; piece += PIECE) {
        const x1 = pieces[piece] * k + dx;
        const y1 = pieces[piece + 1] * k + dy;
        const x2 = pieces[piece + 2] * k + dx;
        const y2 = pieces[piece + 3] * k + dy;
        if ((x1 < 0 && x2 < 0) || (y1 < 0 && y2 < 0) || (x1 > width && x2 > width) || (y1 > height && y2 > height)) continue;
        if (Math.abs(y1 - y2) < 0.01) context.fillRect((x1 < x2 ? x1 : x2) - more, y1 - half, Math.abs(x2 - x1) + 2 * more, thickness);
        else if (Math.abs(x1 - x2) < 0.01) context.fillRect(x1 - half, (y1 < y2 ? y1 : y2) - more, thickness, Math.abs(y2 - y1) + 2 * more);
        else {
          if (!slanted) {
            context.beginPath();
            slanted = true;
          }
          context.moveTo(x1, y1);
          context.lineTo(x2, y2);
        }
      }
    }
    if (slanted) {
      context.strokeStyle = colour;
      context.lineWidth = thickness;
      context.stroke();
    }
  }

  /** A channel as a dashed line. */
  dashed(link: number, colour: string, thickness: number, offset = 0): void {
    const { context, network } = this;
    context.save();
    context.strokeStyle = colour;
    context.lineWidth = thickness;
    context.setLineDash([2.2 * thickness, 1.6 * thickness]);
    context.lineDashOffset = offset;
    context.beginPath();
    for (let piece = network.first[link] * PIECE; piece < network.first[link + 1] * PIECE; piece += PIECE) {
      context.moveTo(this.x(network.pieces[piece]), this.y(network.pieces[piece + 1]));
      context.lineTo(this.x(network.pieces[piece + 2]), this.y(network.pieces[piece + 3]));
    }
    context.stroke();
    context.restore();
  }

  /** The place on a channel at a share of its last piece, in pixels, and its direction. */
  along(link: number, share: number): [number, number, number] {
    const { network } = this;
    const piece = (network.first[link + 1] - 1) * PIECE;
    const [x1, y1, x2, y2] = [network.pieces[piece], network.pieces[piece + 1], network.pieces[piece + 2], network.pieces[piece + 3]];
    return [this.x(x1 + (x2 - x1) * share), this.y(y1 + (y2 - y1) * share), Math.atan2(y2 - y1, x2 - x1)];
  }

  /** The same at a share of its first piece. */
  alongFirst(link: number, share: number): [number, number] {
    const { network } = this;
    const piece = network.first[link] * PIECE;
    return [
      this.x(network.pieces[piece] + (network.pieces[piece + 2] - network.pieces[piece]) * share),
      this.y(network.pieces[piece + 1] + (network.pieces[piece + 3] - network.pieces[piece + 1]) * share),
    ];
  }

  bar(x1: number, y1: number, x2: number, y2: number, colour: string, thickness: number): void {
    const { context } = this;
    context.strokeStyle = colour;
    context.lineWidth = thickness;
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x2, y2);
    context.stroke();
  }

  /** An arrow head. */
  head(x: number, y: number, angle: number, size: number, colour: string): void {
    const { context } = this;
    context.fillStyle = colour;
    context.beginPath();
    context.moveTo(x + size * Math.cos(angle), y + size * Math.sin(angle));
    context.lineTo(x + size * Math.cos(angle + 2.5), y + size * Math.sin(angle + 2.5));
    context.lineTo(x + size * Math.cos(angle - 2.5), y + size * Math.sin(angle - 2.5));
    context.closePath();
    context.fill();
  }

  /** Small signs of direction in the middle of channels. */
  chevrons(links: ArrayLike<number>, colour: string): void {
    if (this.pitch < 34) return;
    const size = Math.min(5, 0.07 * this.pitch);
    for (let i = 0; i < links.length; i++) {
      const [x, y, angle] = this.along(links[i], 0.52);
      if (this.sees(x, y)) this.head(x, y, angle, size, colour);
    }
  }

  disc(x: number, y: number, radius: number, colour: string): void {
    this.context.fillStyle = colour;
    this.context.beginPath();
    this.context.arc(x, y, radius, 0, 2 * Math.PI);
    this.context.fill();
  }

  /** A word on a coloured ground. */
  tag(x: number, y: number, text: string, colour: string, on: string): void {
    const { context } = this;
    context.font = "600 11px system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "middle";
    const width = context.measureText(text).width + 10;
    context.fillStyle = on;
    context.beginPath();
    context.roundRect(x - width / 2 - 1.5, y - 10, width + 3, 20, 6);
    context.fill();
    context.fillStyle = colour;
    context.beginPath();
    context.roundRect(x - width / 2, y - 8.5, width, 17, 5);
    context.fill();
    context.fillStyle = on;
    context.fillText(text, x, y + 0.5);
  }

  /** Crosses out links that have failed, each once for both of its channels. */
  crosses(links: readonly number[]): void {
    const { context } = this;
    const colours = palette();
    const { reverse } = this.network.data;
    this.channels(links, links.length, colours.ground, this.thickness * 2);
    const size = Math.max(4, 0.1 * this.pitch);
    context.strokeStyle = colours.dead;
    context.lineWidth = 2.2;
    context.beginPath();
    for (const link of links) {
      if (reverse[link] < link) continue;
      const [x, y] = this.along(link, 0.5);
      context.moveTo(x - size, y - size);
      context.lineTo(x + size, y + size);
      context.moveTo(x + size, y - size);
      context.lineTo(x - size, y + size);
    }
    context.stroke();
  }

  ring(x: number, y: number, radius: number, colour: string, width = 1.5): void {
    this.context.strokeStyle = colour;
    this.context.lineWidth = width;
    this.context.beginPath();
    this.context.arc(x, y, radius, 0, 2 * Math.PI);
    this.context.stroke();
  }

  /** The radius of a router. */
  get radius(): number {
    return 0.17 * this.pitch;
  }

  /** The radius of a node: that of its router, or half a side of its square where nodes lie apart. */
  get nodeRadius(): number {
    return this.network.nodeX ? Math.max(1.5, 0.1 * this.pitch) : this.radius;
  }

  sees(x: number, y: number, space = 40): boolean {
    return x > -space && y > -space && x < this.width + space && y < this.height + space;
  }
}

export class NetworkView {
  readonly element: HTMLDivElement;
  readonly network: Network;
  readonly #canvas: HTMLCanvasElement;
  readonly #below: HTMLCanvasElement;
  readonly #context: CanvasRenderingContext2D;
  readonly #tip: HTMLDivElement;
  readonly #handlers: Handlers;
  readonly #zoom: ZoomBehavior<HTMLCanvasElement, unknown>;
  readonly #observer: ResizeObserver;
  readonly #endTheme: () => void;
  #transform: ZoomTransform = zoomIdentity;
  #fit = { k: 1, dx: 0, dy: 0 };
  #width = 0;
  #height = 0;
  #stale = true;
  #frame = 0;
  #values: { steps: Uint8Array } | null = null;
  #pointer: [number, number] | null = null;
  #dim = false;
  #ended = false;

  constructor(network: Network, handlers: Handlers) {
    this.network = network;
    this.#handlers = handlers;
    this.#canvas = h("canvas", { tabindex: "0", role: "img", "aria-label": handlers.label ?? `The network ${network.data.name}` });
    this.#below = document.createElement("canvas");
    this.#tip = h("div", { class: "tip", hidden: true });
    this.element = h(
      "div",
      { class: "picture" },
      this.#canvas,
      this.#tip,
      h(
        "div",
        { class: "zoom" },
        h("button", { type: "button", title: "Zoom in (+)", "aria-label": "Zoom in", onclick: () => this.zoomBy(1.5) }, icon("plus")),
        h("button", { type: "button", title: "Zoom out (−)", "aria-label": "Zoom out", onclick: () => this.zoomBy(1 / 1.5) }, icon("minus")),
        h("button", { type: "button", title: "Show all (0)", "aria-label": "Show all of the network", onclick: () => this.reset() }, icon("all")),
      ),
    );
    this.#context = this.#canvas.getContext("2d", { alpha: false }) as CanvasRenderingContext2D;
    this.#zoom = zoom<HTMLCanvasElement, unknown>()
      .scaleExtent([0.5, Math.max(8, Math.sqrt(network.data.routers))])
      // Within a report the wheel scrolls the page, and zooms with Ctrl.
      .filter((event: WheelEvent) => event.type === "wheel" ? event.ctrlKey || !this.#canvas.closest("[data-wormcast]") : !event.ctrlKey && !event.button)
      .on("zoom", (event: { transform: ZoomTransform }) => {
        this.#transform = event.transform;
        this.#stale = true;
        this.redraw();
      });
    select(this.#canvas).call(this.#zoom).on("dblclick.zoom", null);
    this.#canvas.addEventListener("pointermove", (event) => {
      this.#pointer = [event.offsetX, event.offsetY];
      this.#hover();
    });
    this.#canvas.addEventListener("pointerleave", () => {
      this.#pointer = null;
      this.#hover();
    });
    this.#canvas.addEventListener("click", (event) => handlers.click?.(this.hit(event.offsetX, event.offsetY), event));
    this.#canvas.addEventListener("keydown", (event) => this.#key(event));
    this.#observer = new ResizeObserver(() => this.#resize());
    this.#observer.observe(this.#canvas);
    this.#endTheme = onTheme(() => {
      this.#stale = true;
      this.redraw();
    });
  }

  end(): void {
    this.#ended = true;
    cancelAnimationFrame(this.#frame);
    this.#observer.disconnect();
    this.#endTheme();
  }

  get canvas(): HTMLCanvasElement {
    return this.#canvas;
  }

  #key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "+" || event.key === "=") this.zoomBy(1.5);
    else if (event.key === "-") this.zoomBy(1 / 1.5);
    else if (event.key === "0") this.reset();
    else return;
    event.preventDefault();
  }

  zoomBy(factor: number): void {
    select(this.#canvas).call((canvas) => this.#zoom.scaleBy(canvas, factor));
  }

  reset(): void {
    select(this.#canvas).call((canvas) => this.#zoom.transform(canvas, zoomIdentity));
  }

  /** Moves a place of the network into the middle, near enough that names can be read. */
  show(x: number, y: number, pitch = 44): void {
    const k = Math.max(1, pitch / (this.network.unit * this.#fit.k));
    const scale = Math.max(k, this.#transform.k);
    const [px, py] = [x * this.#fit.k + this.#fit.dx, y * this.#fit.k + this.#fit.dy];
    select(this.#canvas).call((canvas) =>
      this.#zoom.transform(canvas, zoomIdentity.translate(this.#width / 2 - px * scale, this.#height / 2 - py * scale).scale(scale)),
    );
  }

  showRouter(router: number): void {
    this.show(this.network.x(router), this.network.y(router));
  }

  showLink(link: number): void {
    const { from, to } = this.network.data;
    this.show((this.network.x(from[link]) + this.network.x(to[link])) / 2, (this.network.y(from[link]) + this.network.y(to[link])) / 2);
  }

  /** Colours channels by shares from 0 to 1, or plainly. */
  colour(shares: ArrayLike<number> | null): void {
    if (shares) {
      const steps = new Uint8Array(this.network.links);
      for (let link = 0; link < this.network.links; link++) {
        const share = shares[link];
        steps[link] = share > 0 ? Math.max(1, Math.min(STEPS - 1, Math.round(share * (STEPS - 1)))) : 255;
      }
      this.#values = { steps };
    } else {
      this.#values = null;
    }
    this.#stale = true;
    this.redraw();
  }

  /** Whether what lies below steps back, for what lives on it to stand out. */
  dim(dim: boolean): void {
    if (this.#dim === dim) return;
    this.#dim = dim;
    this.#stale = true;
    this.redraw();
  }

  #resize(): void {
    const [width, height] = [this.#canvas.clientWidth, this.#canvas.clientHeight];
    if (width === 0 || height === 0) return;
    this.#width = width;
    this.#height = height;
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    for (const canvas of [this.#canvas, this.#below]) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const { network } = this;
    const k = Math.min(width / network.width, height / network.height, LARGEST_PITCH / network.unit);
    this.#fit = { k, dx: (width - network.width * k) / 2 - network.left * k, dy: (height - network.height * k) / 2 - network.top * k };
    this.#zoom.extent([[0, 0], [width, height]]).translateExtent([[-width / 2, -height / 2], [1.5 * width, 1.5 * height]]);
    this.#stale = true;
    this.#cancel();
    this.drawNow();
  }

  #cancel(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
  }

  /** Draws in the next frame. */
  redraw(): void {
    if (this.#frame === 0 && !this.#ended) {
      this.#frame = requestAnimationFrame(() => {
        this.#frame = 0;
        this.drawNow();
      });
    }
  }

  pen(context: CanvasRenderingContext2D): Pen {
    const { k, x, y } = this.#transform;
    return new Pen(context, this.network, k * this.#fit.k, x + this.#fit.dx * k, y + this.#fit.dy * k, this.#width, this.#height);
  }

  drawNow(): void {
    if (this.#width === 0) return;
    const ratio = this.#canvas.width / this.#width;
    if (this.#stale) {
      const below = this.#below.getContext("2d", { alpha: false }) as CanvasRenderingContext2D;
      below.setTransform(ratio, 0, 0, ratio, 0, 0);
      this.#drawBelow(this.pen(below));
      this.#stale = false;
    }
    const context = this.#context;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(this.#below, 0, 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.#handlers.draw?.(this.pen(context));
  }

  #drawBelow(pen: Pen): void {
    const { network } = this;
    const colours = palette();
    const { context } = pen;
    context.fillStyle = colours.ground;
    context.fillRect(0, 0, pen.width, pen.height);
    const all = new Uint32Array(network.links).map((_, i) => i);
    context.globalAlpha = this.#dim ? 0.45 : 1;
    if (!this.#values) {
      pen.channels(all, all.length, colours.wire, Math.max(1, 0.6 * pen.thickness));
    } else {
      const { steps } = this.#values;
      const sorted = Array.from({ length: STEPS + 1 }, () => [] as number[]);
      for (let link = 0; link < network.links; link++) sorted[steps[link] === 255 ? 0 : steps[link]].push(link);
      pen.channels(sorted[0], sorted[0].length, colours.wire, Math.max(1, 0.6 * pen.thickness));
      ramp().forEach((colour, step) => {
        if (step > 0) pen.channels(sorted[step], sorted[step].length, colour, pen.thickness * 1.15);
      });
    }
    if (pen.pitch > 34) {
      const colour = this.#values ? colours.faint : colours.routerEdge;
      for (const link of all) {
        const [x, y, angle] = pen.along(link, 0.62);
        if (pen.sees(x, y)) pen.head(x, y, angle, Math.min(5, 0.055 * pen.pitch), colour);
      }
    }
    if (network.nodeX && network.nodeY && pen.pitch > 8) {
      context.strokeStyle = colours.wire;
      context.lineWidth = 1;
      context.beginPath();
      for (let node = 0; node < network.data.nodes; node++) {
        const [x, y] = network.nodeAt(node);
        for (const router of new Set([network.routerOf(node), network.entryOf(node)])) {
          context.moveTo(pen.x(x), pen.y(y));
          context.lineTo(pen.x(network.x(router)), pen.y(network.y(router)));
        }
      }
      context.stroke();
      const side = 2 * pen.nodeRadius;
      for (let node = 0; node < network.data.nodes; node++) {
        const [x, y] = [pen.x(network.nodeX[node]), pen.y(network.nodeY[node])];
        if (!pen.sees(x, y)) continue;
        context.fillStyle = colours.router;
        context.fillRect(x - side / 2, y - side / 2, side, side);
        context.strokeStyle = colours.routerEdge;
        context.strokeRect(x - side / 2, y - side / 2, side, side);
        if (pen.pitch > 40) this.#write(pen, network.nodeLabel(node), x, y + side / 2 + 9, colours.faint, 10);
      }
    }
    if (pen.pitch >= 5) {
      const radius = pen.radius;
      context.lineWidth = 1;
      for (let router = 0; router < network.data.routers; router++) {
        const [x, y] = [pen.x(network.x(router)), pen.y(network.y(router))];
        if (!pen.sees(x, y)) continue;
        if (pen.pitch < 20) {
          context.fillStyle = colours.routerEdge;
          context.fillRect(x - radius * 0.6, y - radius * 0.6, radius * 1.2, radius * 1.2);
          continue;
        }
        context.beginPath();
        context.arc(x, y, radius, 0, 2 * Math.PI);
        context.fillStyle = colours.router;
        context.fill();
        context.strokeStyle = colours.routerEdge;
        context.stroke();
      }
    }
    context.globalAlpha = 1;
  }

  /** Names of routers: on top of all else; `on` has the colours for discs that are filled. */
  labels(pen: Pen, on?: ReadonlyMap<number, string>): void {
    if (pen.pitch < 40) return;
    const colours = palette();
    const { network } = this;
    const size = Math.min(13, 0.2 * pen.pitch);
    for (let router = 0; router < network.data.routers; router++) {
      const [x, y] = [pen.x(network.x(router)), pen.y(network.y(router))];
      if (!pen.sees(x, y)) continue;
      const label = network.routerLabel(router);
      // Inside of the disc if it can be read there, else below.
      const fitting = Math.min(size, (1.9 * pen.radius) / (0.55 * label.length));
      if (fitting >= 7) this.#write(pen, label, x, y, on?.get(router) ?? colours.text, fitting);
      else this.#write(pen, label, x, y + pen.radius + 8, colours.text, Math.max(9, Math.min(12, size)), colours.ground);
    }
  }

  #write(pen: Pen, text: string, x: number, y: number, colour: string, size: number, around?: string): void {
    const { context } = pen;
    context.font = `${size}px system-ui, sans-serif`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    if (around) {
      context.lineJoin = "round";
      context.lineWidth = 3;
      context.strokeStyle = around;
      context.strokeText(text, x, y + 0.5);
    }
    context.fillStyle = colour;
    context.fillText(text, x, y + 0.5);
  }

  /** What lies at a place of the canvas, in pixels. */
  hit(px: number, py: number): Hit | null {
    const { network } = this;
    const pen = this.pen(this.#context);
    const [x, y] = [(px - pen.dx) / pen.k, (py - pen.dy) / pen.k];
    const near = 5 / pen.k;
    if (network.nodeX && network.nodeY) {
      for (let node = 0; node < network.data.nodes; node++) {
        if (Math.hypot(network.nodeX[node] - x, network.nodeY[node] - y) < Math.max(near, 0.13 * network.unit)) return { kind: "node", id: node };
      }
    }
    const reach = Math.max(pen.pitch < 20 ? 0.14 * network.unit : 0.2 * network.unit, near / 2);
    for (let router = 0; router < network.data.routers; router++) {
      if (Math.abs(network.x(router) - x) < reach && Math.abs(network.y(router) - y) < reach) return { kind: "router", id: router };
    }
    let best: Hit | null = null;
    let least = Math.max(near, 0.09 * network.unit) ** 2;
    const { pieces, first } = network;
    for (let link = 0; link < network.links; link++) {
      for (let piece = first[link] * PIECE; piece < first[link + 1] * PIECE; piece += PIECE) {
        const distance = toPiece(x, y, pieces[piece], pieces[piece + 1], pieces[piece + 2], pieces[piece + 3]);
        if (distance < least) {
          least = distance;
          best = { kind: "link", id: link };
        }
      }
    }
    return best;
  }

  /** What is under the pointer at present. */
  pointed(): Hit | null {
    return this.#pointer ? this.hit(...this.#pointer) : null;
  }

  #hover(): void {
    const hit = this.pointed();
    const lines = hit ? (this.#handlers.describe?.(hit) ?? null) : null;
    this.#canvas.classList.toggle("pointing", hit !== null && this.#handlers.click !== undefined);
    this.#tip.hidden = lines === null;
    if (lines && this.#pointer) {
      this.#tip.replaceChildren(...lines.map((line, i) => h(i === 0 ? "strong" : "span", null, line)));
      const [x, y] = this.#pointer;
      const [width, height] = [this.#tip.offsetWidth, this.#tip.offsetHeight];
      this.#tip.style.left = `${Math.max(4, Math.min(x + 14, this.#width - width - 6))}px`;
      this.#tip.style.top = `${y + 18 + height > this.#height ? Math.max(4, y - height - 12) : y + 18}px`;
    }
  }

  /** Says again what is under the pointer, because it has changed. */
  refreshTip(): void {
    if (this.#pointer) this.#hover();
  }
}

function toPiece(x: number, y: number, x1: number, y1: number, x2: number, y2: number): number {
  const [ax, ay] = [x2 - x1, y2 - y1];
  const length = ax * ax + ay * ay;
  const share = length === 0 ? 0 : Math.max(0, Math.min(1, ((x - x1) * ax + (y - y1) * ay) / length));
  return (x - x1 - share * ax) ** 2 + (y - y1 - share * ay) ** 2;
}

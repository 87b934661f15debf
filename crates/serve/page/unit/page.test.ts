import assert from "node:assert/strict";
import { test } from "node:test";

import { changed, format, list, numberBelow, parse, unknown, whole, wrongName, wrongNumber, wrongWord } from "../src/address.ts";
import type { Curves } from "../src/api.ts";
import { tick, withInterval } from "../src/dom.ts";
import { scaleOf, svgOf, ticksOf } from "../src/draw/picture.ts";
import { largest, maximum } from "../src/measure.ts";
import { ChannelSpace, coordinates, Network } from "../src/network.ts";
import { mesh } from "./mesh.ts";

test("what an address says in vain is told", () => {
  const said = (address: string): string => unknown(parse(...(address.split("?") as [string, string])));
  assert.equal(said("/network?topology=torus:4x4&link=3&token=abc"), "");
  assert.match(said("/network?topolgy=torus:4x4"), /^The address has “topolgy”, which makes no difference here: expected topology, /);
  assert.match(said("/?file=run.replay"), /“file”, .*: this view has none$/);
  assert.match(said("/network?replay=run.replay&measure=foo"), /^`measure` cannot be “foo”: expected use, /);
  assert.equal(said("/replay?file=a.replay&speed=abc"), "`speed` cannot be “abc”: expected 1, 5, 20, 100, 500, 2000, 10000 or 100000");
  assert.equal(said("/replay?file=a.replay&speed=20&colour=foo&by=bar"), "`by` cannot be “bar”: expected use, held, blocked, waited, flits or worms. `colour` cannot be “foo”: expected message, kind or state");
  assert.equal(said("/curves?tab=foo&log=maybe"), "`tab` cannot be “foo”: expected values, parts or all. `log` cannot be “maybe”: expected 0 or 1");
  assert.equal(said("/curves?tab=values&log=1&hide="), "");
  assert.equal(said("/network?topology=mesh:4x4&measure=use&kind=multicast"), "“measure” and “kind” make no difference without “replay”, a recorded run");
  assert.equal(said("/network?topology=mesh:4x4&kind=multicast"), "“kind” makes no difference without “replay”, a recorded run");
  assert.match(said("/network?replay=run.replay&topology=mesh:4x4"), /^“topology” makes no difference beside “replay”/);
  assert.equal(said("/network?topology=mesh:4x4&topology=mesh:3x3"), "The address has “topology” twice: the last one counts");
});

test("values that there are not are told with those that there are", () => {
  assert.deepEqual([undefined, "", "a", "b"].map((given) => wrongWord("word", given, ["a", "b"])), ["", "", "", ""]);
  assert.deepEqual([["a"], ["a", "b"], ["a", "b", "c"]].map((words) => wrongWord("word", "x", words)), ["a", "a or b", "a, b or c"].map((expected) => `\`word\` cannot be “x”: expected ${expected}`));
  assert.deepEqual([undefined, "", "a", "b"].map((given) => wrongName("name", given, ["a", "b"])), ["", "", "", ""]);
  assert.equal(wrongName("name", "c", ["a", "b"]), "There is no name “c”: expected a, b");
  assert.equal(wrongName("name", "x", Array.from({ length: 14 }, (_, i) => String(i))), "There is no name “x”: expected 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 2 more");
  assert.deepEqual([undefined, "", "0", "15"].map((given) => wrongNumber("router", given, 16, "network")), ["", "", "", ""]);
  for (const given of ["16", "x", "-1", "1.5"]) assert.equal(wrongNumber("router", given, 16, "network"), `There is no router “${given}”: expected a number from 0 to 15`);
  assert.equal(wrongNumber("channel", "0", 0, "network"), "There is no channel “0”: the network has no channels");
  assert.equal(wrongNumber("router", "x", 0, "network"), "There is no router “x”: the network has no routers");
  assert.deepEqual([numberBelow("15", 16), numberBelow("16", 16), numberBelow("x", 16)], [15, null, null]);
});

test("addresses come back, and stay readable", () => {
  const query = { topology: "torus:4x4", destinations: "1,4;2,7", file: "results/a run.replay", "a&b": "=?#é" };
  const text = format("plan", query);
  assert.ok(text.startsWith("/plan?topology=torus:4x4&destinations=1,4;2,7&file=results/a%20run.replay&"));
  const [path, search] = text.split(/\?(.*)/s);
  assert.deepEqual(parse(path, `?${search}`), { view: "plan", query });
  assert.deepEqual(parse("/nothing", ""), { view: "home", query: {} });
  assert.equal(format("home", {}), "/");
  assert.equal(format("replay", { worm: "" }), "/replay");
  assert.deepEqual(changed({ a: "1", b: "2" }, { a: null, b: 3, c: "" }), { b: "3" });
  assert.deepEqual(list("a,,b"), ["a", "b"]);
  assert.deepEqual([whole("12"), whole("-1"), whole("1.5"), whole(undefined), whole("1e9")], [12, null, null, null, null]);
});

test("numbers at axes have their digits", () => {
  assert.deepEqual([0.002, 0.0022000000000000001, 0.00025, 0, -0, 1000, 0.1 + 0.2].map(tick), ["0.002", "0.0022", "0.00025", "0", "0", "1,000", "0.3"]);
  assert.equal(tick(null), "");
});

test("names of channels are the command's", () => {
  const network = new Network(mesh(3, 2));
  const space = new ChannelSpace(network.links, 6, 4, 1);
  assert.equal(network.routerLabel(4), "1,1");
  assert.equal(coordinates(23, [4, 3, 2]), "3,2,1");
  assert.equal(network.findLink("0,0 → 1,0"), network.findLink("0,0->1,0"));
  assert.equal(network.linkLabel(network.findLink("1,0 to 1,1") as number), "1,0 -> 1,1");
  assert.equal(network.findLink("0,0 -> 2,0"), null);
  // Failed links are given by numbers or by names.
  const both = network.linksBetween(["1,0-1,1"]);
  assert.equal(both.length, 2);
  assert.deepEqual(network.linksBetween(["1-4"]), both);
  assert.deepEqual(network.linksBetween([" 4-1 "]), both);
  assert.deepEqual(network.linksBetween(["0-2", "0,0-2,0"]), []);
  assert.equal(space.label(network, network.links + 4 * 4 + 2), "injection 1,1[2]");
  assert.equal(space.label(network, space.consumptionOf(5, 0)), "consumption 2,1[0]");
  for (let channel = 0; channel < space.size; channel++) {
    const kind = space.kind(channel);
    if (kind === "injection") assert.equal(space.injectionOf(space.node(channel), space.port(channel)), channel);
    if (kind === "consumption") assert.equal(space.consumptionOf(space.node(channel), space.port(channel)), channel);
  }
});

test("channels lie to the right of their direction, and wrap-around links are two stubs", () => {
  const network = new Network(mesh(3, 2));
  const link = network.findLink("0,0 -> 1,0") as number;
  const [x1, y1, x2, y2] = network.pieces.subarray(4 * network.first[link], 4 * network.first[link] + 4);
  assert.ok(x1 < x2 && y1 === y2 && y1 > network.y(0), "to the right of a channel that leads right is below");
  const torus = new Network({ ...mesh(4, 1), shape: "torus", wraps: true, from: [0, 3], to: [3, 0], reverse: [1, 0] });
  assert.equal(torus.first[1] - torus.first[0], 2);
});

test("what has most comes first, and equal ones in the order of ids", () => {
  assert.deepEqual(largest([0, 3, 1, 3, 0], 3), [1, 3, 2]);
  assert.equal(maximum([1, 7, 2]), 7);
});

const point = { saturated: false, deadlocked: false, unsettled: false, replications: 5, point: "", settings: [] };
const curves: Pick<Curves, "title" | "x" | "y" | "series" | "notes"> = {
  notes: ["2 points are <not> complete"],
  title: "A <b>", x: { name: "rate", label: "rate", log: false }, y: { name: "latency", label: "latency (µs)", log: false },
  series: [
    { name: "one", points: [{ ...point, x: 1, mean: 10, low: 9, high: 11 }, { ...point, x: 2, mean: null, low: null, high: null, saturated: true }] },
    { name: "two & three", points: [{ ...point, x: 1, mean: 20, low: null, high: null, unsettled: true }, { ...point, x: 2, mean: null, low: null, high: null, deadlocked: true }] },
  ],
};

test("the plot that is downloaded has its points, signs and names", () => {
  const svg = svgOf(curves, ["#111111", "#222222"], new Set(), false);
  assert.equal(svg.match(/<circle/g)?.length, 2);
  // A saturated and a deadlocked point at one place: two marks, one above the other.
  const marks = [...svg.matchAll(/<path d="M([\d.]+) ([\d.]+)l/g)].map(([, x, y]) => [x, Number(y)] as const);
  assert.equal(marks.length, 2);
  assert.equal(marks[0][0], marks[1][0]);
  assert.equal(marks[0][1] - marks[1][1], 9);
  assert.ok(svg.includes("2 points are &lt;not&gt; complete"));
  assert.ok(svg.includes("A &lt;b&gt;") && svg.includes("two &amp; three") && svg.includes("latency (µs)"));
  assert.ok(!svgOf(curves, ["#111111", "#222222"], new Set(["one"]), true).includes("#111111"));
});

test("digits follow the interval, as the command's do", () => {
  const around = (mean: number, half: number): [number, number] => [mean - half, mean + half];
  assert.equal(withInterval(12.3456, around(12.3456, 0.234)), "12.35 ± 0.23");
  assert.equal(withInterval(1234.5, around(1234.5, 23.4)), "1,235 ± 23");
  assert.equal(withInterval(1.187, around(1.187, 0.00089)), "1.18700 ± 0.00089");
  assert.equal(withInterval(-0.001, around(-0.001, 0.5)), "0.00 ± 0.50");
  assert.equal(withInterval(1.5, null), "1.5");
  // As `sweep` prints percentiles.
  assert.equal(withInterval(5.7, [3.0, 21.1]), "5.7 (3.0 to 21.1)");
  assert.equal(withInterval(0.507, [0.494, 0.526]), "0.507 (0.494 to 0.526)");
});

test("ticks are round and cover the values", () => {
  const scale = scaleOf([3, 97], false, [0, 100]);
  assert.deepEqual(ticksOf(scale, false), [0, 20, 40, 60, 80, 100]);
  assert.deepEqual([scale(0), scale(100)], [0, 100]);
  assert.deepEqual(ticksOf(scaleOf([0.9, 120], true, [0, 1]), true), [1, 2, 5, 10, 20, 50, 100]);
  assert.deepEqual(scaleOf([], false, [0, 1]).domain()[0], 0);
  assert.deepEqual(scaleOf([0, 0], false, [0, 1]).domain(), [0, 1]);
});

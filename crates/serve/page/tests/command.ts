// The command, and the folder that the tests serve.

import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { inflateRawSync } from "node:zlib";
import type { ReplayHeader } from "../src/api.ts";

export const FOLDER = resolve("test-results/folder");
export const PROGRAM = resolve(process.env.WORMCAST ?? "../../../target/debug/wormcast");

/** What the command prints; an exit code of 1, as of deadlocks, is no failure here. */
export function command(...args: string[]): string {
  const { stdout, stderr, status, error } = spawnSync(PROGRAM, args, { cwd: FOLDER, encoding: "utf8", maxBuffer: 1 << 30 });
  if (error) throw error;
  if (status !== 0 && status !== 1) throw new Error(`wormcast ${args.join(" ")}: exit code ${status}\n${stderr}`);
  return stdout;
}

/** The same as JSON; what it is has to be said by who asks. */
export function json<T>(...args: string[]): T {
  return JSON.parse(command(...args, "--format", "json")) as T;
}

/** A CSV file of the folder, as objects. */
export function csv(text: string): Record<string, string>[] {
  const [head, ...lines] = text.trim().split("\n").map(fields);
  return lines.map((line) => Object.fromEntries(head.map((name, i) => [name, line[i]])));
}

function fields(line: string): string[] {
  return [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map((match) => (match[1] !== undefined ? match[1].replace(/""/g, '"') : match[2]));
}

/** The header of a recorded run in the folder, and its chunks as they are in the file. */
export function replay(file: string): { header: ReplayHeader; chunks: Buffer[] } {
  const bytes = readFileSync(`${FOLDER}/${file}`);
  const end = bytes.subarray(bytes.length - 32);
  const at = Number(end.readBigUInt64LE(0));
  const header = JSON.parse(inflateRawSync(bytes.subarray(at, at + end.readUInt32LE(8))).toString()) as ReplayHeader;
  return { header, chunks: header.chunks.map(({ offset, bytes: length }) => bytes.subarray(offset, offset + length)) };
}

export function version(): string {
  return (/\d+\.\d+\.\d+/.exec(execFileSync(PROGRAM, ["--version"], { encoding: "utf8" })) as RegExpExecArray)[0];
}

/** The options of the run that deadlocks. */
export const DEADLOCK = ["small.toml", "--set", "algorithm=dual-path", "--set", "switching.consumption_ports=1", "--set", "traffic.arrivals.rate=0.1"];
/** Those of the run that is looked at. */
export const RUN = ["small.toml", "--set", "algorithm=dual-path", "--set", "traffic.arrivals.rate=0.05", "--set", "traffic.multicast.fraction=0.5"];

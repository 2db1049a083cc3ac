/** Packets into poses: the native receiver, compiled to WebAssembly, one instance for each stream. */

import { MocpackError } from "../error.js";
import type { Frames, WasmSource } from "../types.js";
import type { Hello } from "./hello.js";

/** What bindings/wasm/live/boundary.cpp exports. */
interface Exports {
  memory: WebAssembly.Memory;
  _initialize(): void;
  allocate(size: number): number;
  open_hello(hello: number, size: number, patience: number): number;
  receive(packet: number, size: number): number;
  next(): number;
  guess(ahead: number): number;
  rotations_at(): number;
  translations_at(): number;
  frame_number(): number;
  frame_micros(): number;
  waiting(): number;
  bound(): number;
  every(): number;
  newest(): number;
  first_missing(): number;
  holds(number: number): number;
}

/** What a packet was; `known` is a duplicate or late, `unplaced` waits for one that stands by itself. */
export type Answer = "news" | "known" | "unplaced" | "damaged" | "otherHello";
const ANSWERS: Answer[] = ["news", "known", "unplaced", "damaged", "otherHello"];
const LONGEST = 1 << 20; // bytes of a packet
const MOST_MISSING = 16; // frames of one report
const REMEMBERED = 480; // packets of which loss is counted

/** What a receiver tells its sender, or a relay. */
export interface Report {
  /** Share of packets that did not come. */
  loss: number;
  /** How many are lost in a row: nine in ten runs are no longer. */
  burst: number;
  missing: number[];
  /** Whether a frame is needed that stands by itself. */
  lost: boolean;
  newest: number;
  patience: number;
}

/** One frame: `Frames` of count 1, so that `worldPositions` takes it. */
export interface LivePose extends Frames {
  /** From 0, of the frames sent. */
  number: number;
  /** Seconds on the sender's clock. */
  time: number;
  /** Whether it was received; else it is a guess, for which no bound holds. */
  certain: boolean;
}

export class Receiver {
  readonly counts: Record<Answer, number> = {
    news: 0,
    known: 0,
    unplaced: 0,
    damaged: 0,
    otherHello: 0,
  };
  last: LivePose | null = null;
  private room = 0;
  private roomSize = 0;
  private runs: number[] = []; // packets missing before each that came

  private constructor(
    readonly hello: Hello,
    private readonly core: Exports,
    private readonly patience: number,
  ) {}

  /** `patience`: for how many frames a missing one is waited for, where a later one could stand in. */
  static async open(hello: Hello, module: WebAssembly.Module, patience = 0): Promise<Receiver> {
    const instance = await WebAssembly.instantiate(module, {});
    const core = instance.exports as unknown as Exports;
    core._initialize();
    const receiver = new Receiver(hello, core, patience);
    const at = receiver.put(hello.model);
    if (core.open_hello(at, hello.model.length, patience) !== 0)
      throw new MocpackError("corrupt", "a hello contradicts its specification");
    receiver.roomSize = 0; // the model stays where it is
    return receiver;
  }

  /** The frames that a packet makes known, in order; often one, or none. */
  receive(packet: Uint8Array): LivePose[] {
    if (packet.length > LONGEST) return [];
    const before = this.newest;
    const answer = ANSWERS[this.core.receive(this.put(packet), packet.length)];
    this.counts[answer]++;
    if (answer === "news" && before >= 0 && this.newest > before)
      this.runs.push(Math.min(this.newest - before - 1, REMEMBERED));
    if (this.runs.length > REMEMBERED) this.runs.shift();
    const poses: LivePose[] = [];
    while (this.core.next()) {
      const [number, time] = [this.core.frame_number(), this.core.frame_micros() / 1e6];
      poses.push(this.pose(number, time, true));
    }
    this.last = poses.at(-1) ?? this.last;
    return poses;
  }

  /** The pose `ahead` frames after the last, if all goes on as it did. */
  guess(ahead: number): LivePose | null {
    if (!this.last || !this.core.guess(ahead)) return null;
    const time = this.last.time + ahead * this.every * this.hello.frameTime;
    return this.pose(this.last.number + ahead, time, false);
  }

  /** What the sender should know. */
  report(): Report {
    const [first, { newest, patience }] = [this.core.first_missing(), this];
    const lost = first < 0 && (newest >= 0 || this.counts.unplaced > 0);
    const missing: number[] = [];
    for (let n = first; this.waiting && !lost && n < newest && missing.length < MOST_MISSING; n++)
      if (!this.core.holds(n)) missing.push(n);
    const runs = this.runs.filter((run) => run).sort((a, b) => a - b);
    const gone = runs.reduce((sum, run) => sum + run, 0);
    return {
      loss: gone / Math.max(1, gone + this.runs.length),
      burst: runs[Math.ceil(0.9 * (runs.length - 1))] ?? 0,
      missing,
      lost,
      newest,
      patience,
    };
  }

  /** Whether a frame is missing that nothing received can stand in for. */
  get waiting(): boolean {
    return this.core.waiting() !== 0;
  }

  /** Metres that the last frame is promised within. */
  get maxError(): number {
    return this.core.bound() / 1e6;
  }

  /** Of how many frames of the source one is sent. */
  get every(): number {
    return this.core.every();
  }

  /** Number of the newest frame heard of; -1 before the first. */
  get newest(): number {
    return this.core.newest();
  }

  private pose(number: number, time: number, certain: boolean): LivePose {
    const { skeleton } = this.hello;
    const { buffer } = this.core.memory;
    const joints = skeleton.names.length;
    const rotations = new Float64Array(buffer, this.core.rotations_at(), 4 * joints).slice();
    const translations = skeleton.offsets.slice();
    const moving = new Float64Array(
      buffer,
      this.core.translations_at(),
      3 * skeleton.translated.length,
    );
    skeleton.translated.forEach((joint, m) =>
      translations.set(moving.subarray(3 * m, 3 * m + 3), 3 * joint),
    );
    return { start: number, count: 1, number, time, certain, rotations, translations };
  }

  private put(bytes: Uint8Array): number {
    if (this.roomSize < bytes.length) {
      this.roomSize = Math.max(4096, 2 * bytes.length);
      this.room = this.core.allocate(this.roomSize) >>> 0;
      if (!this.room) throw new MocpackError("memory", "the receiver has no more memory");
    }
    new Uint8Array(this.core.memory.buffer).set(bytes, this.room);
    return this.room;
  }
}

let own: Promise<WebAssembly.Module> | undefined;

/** Compiles the receiver: from an address, bytes or a response, or from beside this module. */
export function loadReceiver(wasm?: WasmSource): Promise<WebAssembly.Module> {
  if (wasm !== undefined) return compile(wasm);
  own ??= compile(new URL("../live.wasm", import.meta.url));
  return own;
}

async function compile(wasm: WasmSource): Promise<WebAssembly.Module> {
  if (wasm instanceof WebAssembly.Module) return wasm;
  if (typeof wasm === "string" || wasm instanceof URL) {
    const answer = await fetch(wasm).catch((error: unknown) => {
      throw new MocpackError("network", `${wasm} cannot be fetched`, { cause: error });
    });
    if (!answer.ok) throw new MocpackError("network", `${wasm}: ${answer.status}`);
    return WebAssembly.compile(await answer.arrayBuffer());
  }
  return WebAssembly.compile(wasm as BufferSource);
}

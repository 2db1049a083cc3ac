/** Decodes packets into poses with the native receiver in WebAssembly, one instance per stream. */

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
  predict(ahead: number): number;
  rotations_at(): number;
  translations_at(): number;
  frame_number(): number;
  frame_micros(): number;
  waiting(): number;
  bound(): number;
  frame_step(): number;
  newest(): number;
  first_missing(): number;
  has_frame(number: number): number;
}

/** Result of receiving a packet. `redundant`: duplicate or late. `needsKeyframe`: decodable only after a keyframe. */
export type PacketStatus = "new" | "redundant" | "needsKeyframe" | "damaged" | "otherStream";
const STATUSES: PacketStatus[] = ["new", "redundant", "needsKeyframe", "damaged", "otherStream"];
const MAX_PACKET_BYTES = 1 << 20;
const MAX_MISSING = 16; // frames listed in one report
const LOSS_WINDOW_PACKETS = 480;

/** State of a receiver, for its sender or a relay. */
export interface Report {
  /** Share of packets that were lost. */
  loss: number;
  /** 90th percentile of the number of packets lost in a row. */
  burst: number;
  missing: number[];
  /** Whether the receiver needs a keyframe to decode again. */
  lost: boolean;
  newest: number;
  patience: number;
}

/** The pose of one frame, as `Frames` of count 1 for `worldPositions`. */
export interface LivePose extends Frames {
  /** Number of the sent frame, from 0. */
  frameNumber: number;
  /** Seconds on the sender's clock. */
  time: number;
  /** Whether the pose was received; the error bound does not apply to predicted poses. */
  isExact: boolean;
}

export class Receiver {
  readonly counts: Record<PacketStatus, number> = {
    new: 0,
    redundant: 0,
    needsKeyframe: 0,
    damaged: 0,
    otherStream: 0,
  };
  last: LivePose | null = null;
  private room = 0;
  private roomSize = 0;
  private lossRuns: number[] = []; // packets missing before each received one

  private constructor(
    readonly hello: Hello,
    private readonly core: Exports,
    private readonly patience: number,
  ) {}

  /** `patience`: frames to wait for a missing one before skipping to a later keyframe. */
  static async open(hello: Hello, module: WebAssembly.Module, patience = 0): Promise<Receiver> {
    const instance = await WebAssembly.instantiate(module, {});
    const core = instance.exports as unknown as Exports;
    core._initialize();
    const receiver = new Receiver(hello, core, patience);
    const at = receiver.copyToWasm(hello.model);
    if (core.open_hello(at, hello.model.length, patience) !== 0)
      throw new MocpackError("corrupt", "the hello is invalid");
    receiver.roomSize = 0; // keep the model: it must not be overwritten by packets
    return receiver;
  }

  /** Returns the frames that a packet completes, in order: none, one or several. */
  receive(packet: Uint8Array): LivePose[] {
    if (packet.length > MAX_PACKET_BYTES) return [];
    const before = this.newest;
    const answer = STATUSES[this.core.receive(this.copyToWasm(packet), packet.length)];
    this.counts[answer]++;
    if (answer === "new" && before >= 0 && this.newest > before)
      this.lossRuns.push(Math.min(this.newest - before - 1, LOSS_WINDOW_PACKETS));
    if (this.lossRuns.length > LOSS_WINDOW_PACKETS) this.lossRuns.shift();
    const poses: LivePose[] = [];
    while (this.core.next()) {
      const [number, time] = [this.core.frame_number(), this.core.frame_micros() / 1e6];
      poses.push(this.pose(number, time, true));
    }
    this.last = poses.at(-1) ?? this.last;
    return poses;
  }

  /** Extrapolates the pose `ahead` frames after the last one. */
  predict(ahead: number): LivePose | null {
    if (!this.last || !this.core.predict(ahead)) return null;
    const time = this.last.time + ahead * this.frameStep * this.hello.frameTime;
    return this.pose(this.last.frameNumber + ahead, time, false);
  }

  /** Returns a report for the sender. */
  report(): Report {
    const [first, { newest, patience }] = [this.core.first_missing(), this];
    const lost = first < 0 && (newest >= 0 || this.counts.needsKeyframe > 0);
    const missing: number[] = [];
    for (let n = first; this.waiting && !lost && n < newest && missing.length < MAX_MISSING; n++)
      if (!this.core.has_frame(n)) missing.push(n);
    const lossRuns = this.lossRuns.filter((run) => run).sort((a, b) => a - b);
    const gone = lossRuns.reduce((sum, run) => sum + run, 0);
    return {
      loss: gone / Math.max(1, gone + this.lossRuns.length),
      burst: lossRuns[Math.ceil(0.9 * (lossRuns.length - 1))] ?? 0,
      missing,
      lost,
      newest,
      patience,
    };
  }

  /** Whether decoding waits for a missing frame. */
  get waiting(): boolean {
    return this.core.waiting() !== 0;
  }

  /** Error bound of the last frame, in meters. */
  get maxError(): number {
    return this.core.bound() / 1e6;
  }

  /** Source frames per sent frame. */
  get frameStep(): number {
    return this.core.frame_step();
  }

  /** Number of the newest known frame; -1 before the first. */
  get newest(): number {
    return this.core.newest();
  }

  private pose(number: number, time: number, isExact: boolean): LivePose {
    const { skeleton } = this.hello;
    const { buffer } = this.core.memory;
    const joints = skeleton.names.length;
    const rotations = new Float64Array(buffer, this.core.rotations_at(), 4 * joints).slice();
    const translations = skeleton.offsets.slice();
    const moving = new Float64Array(
      buffer,
      this.core.translations_at(),
      3 * skeleton.translatedJoints.length,
    );
    skeleton.translatedJoints.forEach((joint, m) =>
      translations.set(moving.subarray(3 * m, 3 * m + 3), 3 * joint),
    );
    return { start: number, count: 1, frameNumber: number, time, isExact, rotations, translations };
  }

  private copyToWasm(bytes: Uint8Array): number {
    if (this.roomSize < bytes.length) {
      this.roomSize = Math.max(4096, 2 * bytes.length);
      this.room = this.core.allocate(this.roomSize) >>> 0;
      if (!this.room) throw new MocpackError("memory", "the receiver is out of memory");
    }
    new Uint8Array(this.core.memory.buffer).set(bytes, this.room);
    return this.room;
  }
}

let cachedModule: Promise<WebAssembly.Module> | undefined;

/** Compiles the receiver from a URL, bytes or a response; by default live.wasm next to this module. */
export function loadReceiver(wasm?: WasmSource): Promise<WebAssembly.Module> {
  if (wasm !== undefined) return compile(wasm);
  cachedModule ??= compile(new URL("../live.wasm", import.meta.url));
  return cachedModule;
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

/** Watches a stage of a relay: its performers and their poses. */

import { MocpackError } from "../error.js";
import type { Skeleton, WasmSource } from "../types.js";
import { isHello, readHello } from "./hello.js";
import { connectWebSocket, connectWebTransport, type Link, type RelayMessage } from "./link.js";
import { Player } from "./player.js";
import { loadReceiver, Receiver, type LivePose } from "./receiver.js";

const [RETRY_AFTER_MS, MAX_WAIT_MS] = [100, 5000]; // before reconnecting; doubles with each failure
const RATE_WINDOW_MS = 2000; // for the bit rate
const PING_INTERVAL_MS = 1000;
const [REPORT_INTERVAL_MS, URGENT_REPORT_INTERVAL_MS] = [50, 5]; // over datagrams; urgent while a frame is missing

export interface LiveOptions {
  /** Grants the role `watch`; required unless the relay is on localhost. */
  token?: string;
  /** Location of live.wasm, if it is not next to this module. */
  wasm?: WasmSource;
  /** For Node.js before 22, and tests. */
  WebSocket?: typeof WebSocket;
  /** Whether to use WebTransport if the relay and the browser support it; `stage.transport` has the result. */
  webTransport?: boolean;
  /** Frames to wait for a missing one; 0 always shows the newest. */
  patience?: number;
  /** Delay of `performer.player` in seconds; "auto" fits the network's jitter. */
  delay?: number | "auto";
  signal?: AbortSignal;
}

export interface Performer {
  readonly name: string;
  readonly skeleton: Skeleton;
  readonly receiver: Receiver;
  /** The newest pose; null before the first. */
  readonly pose: LivePose | null;
  /** Returns the pose to show now: `player.at(performance.now() / 1000)`. */
  readonly player: Player;
  /** Bits per second, without network headers. */
  bitRate(): number;
  /** Share of frames that were not received. */
  loss(): number;
  /** 95th percentile of packet delay in seconds, relative to the fastest packet. */
  jitter(): number;
  /** Seconds from the performer to the screen: half of both round trips, plus the player's delay. */
  delay(): number;
}

export interface StageEvents {
  join: (performer: Performer) => void;
  pose: (name: string, pose: LivePose, performer: Performer) => void;
  leave: (performer: Performer) => void;
  /** The connection was lost; the stage reconnects. */
  lost: () => void;
  error: (error: MocpackError) => void;
}

export interface Stage {
  readonly performers: ReadonlyMap<string, Performer>;
  /** Transport of the connection; null while connecting. */
  readonly transport: Link["transport"] | null;
  on<E extends keyof StageEvents>(event: E, listener: StageEvents[E]): Stage;
  close(): void;
}

/**
 * Watches a stage such as `ws://127.0.0.1:8420/stage`; http and https addresses work too.
 *
 * Resolves when connected. Reconnects when the connection is lost later.
 */
export async function live(url: string | URL, options: LiveOptions = {}): Promise<Stage> {
  options.signal?.throwIfAborted();
  const module = await loadReceiver(options.wasm);
  const stage = new RelayStage(String(url).replace(/^http/, "ws"), module, options);
  await stage.connect();
  options.signal?.addEventListener("abort", () => stage.close());
  return stage;
}

class StagePerformer implements Performer {
  pose: LivePose | null = null;
  readonly player: Player;
  trip = 0; // round trip between performer and relay, seconds
  private arrivals: { at: number; bytes: number }[] = [];
  private first = -1;
  private decoded = 0;

  constructor(
    readonly name: string,
    readonly receiver: Receiver,
    private readonly trips: { own: number }, // round trip to the relay, seconds
    delay: number | "auto",
  ) {
    this.player = new Player(receiver, delay);
  }

  get skeleton(): Skeleton {
    return this.receiver.hello.skeleton;
  }

  take(packet: Uint8Array, now: number): LivePose[] {
    const poses = this.receiver.receive(packet);
    this.pose = poses.at(-1) ?? this.pose;
    if (poses.length && this.first < 0) this.first = poses[0].frameNumber;
    this.decoded += poses.length;
    this.player.addPoses(poses, now / 1000);
    this.arrivals.push({ at: now, bytes: packet.length });
    while (this.arrivals.length && this.arrivals[0].at < now - RATE_WINDOW_MS)
      this.arrivals.shift();
    return poses;
  }

  bitRate(): number {
    const bytes = this.arrivals.reduce((sum, { bytes }) => sum + bytes, 0);
    return (8000 * bytes) / RATE_WINDOW_MS;
  }

  loss(): number {
    const expected = this.receiver.newest - this.first + 1;
    return this.first < 0 || expected < 1 ? 0 : Math.max(0, 1 - this.decoded / expected);
  }

  jitter(): number {
    return this.player.jitter;
  }

  delay(): number {
    return (this.trip + this.trips.own) / 2 + this.player.delay;
  }
}

class RelayStage implements Stage {
  readonly performers = new Map<string, StagePerformer>();
  private readonly names = new Map<number, string>();
  private readonly byNumber = new Map<number, StagePerformer>();
  private readonly listeners: { [E in keyof StageEvents]?: StageEvents[E][] } = {};
  private readonly hellos = new Map<number, Uint8Array>();
  private link: Link | null = null;
  private closed = false;
  private failed = 0;
  private readonly trips = { own: 0 };
  private timers: ReturnType<typeof setInterval>[] = [];
  private work: Promise<void> = Promise.resolve(); // handles messages in order

  constructor(
    private readonly url: string,
    private readonly module: WebAssembly.Module,
    private readonly options: LiveOptions,
  ) {}

  on<E extends keyof StageEvents>(event: E, listener: StageEvents[E]): Stage {
    ((this.listeners[event] ??= []) as StageEvents[E][]).push(listener);
    // a late listener also learns of performers that are already there
    if (event === "join")
      for (const performer of this.performers.values())
        (listener as StageEvents["join"])(performer);
    return this;
  }

  get transport(): Link["transport"] | null {
    return this.link?.transport ?? null;
  }

  async connect(): Promise<void> {
    const { token, WebSocket, webTransport } = this.options;
    const transport = { url: this.url, token, WebSocket };
    // messages of an abandoned connection are ignored
    const own: { link: Link | null } = { link: null };
    const early: [RelayMessage | ArrayBuffer, number][] = [];
    const listener = {
      onMessage: (message: RelayMessage | ArrayBuffer, now: number) =>
        own.link ? this.queue(own.link, message, now) : void early.push([message, now]),
      closed: () => {
        if (own.link && own.link === this.link && !this.closed) this.reconnect();
      },
    };
    const link =
      (webTransport && (await connectWebTransport(transport, listener))) ||
      (await connectWebSocket(transport, listener));
    own.link = this.link = link;
    this.failed = 0;
    early.forEach(([message, now]) => this.queue(link, message, now));
    this.startTimers(link);
  }

  close(): void {
    this.closed = true;
    this.stopTimers();
    this.link?.close();
    this.removeAll();
  }

  private queue(link: Link, message: RelayMessage | ArrayBuffer, now: number): void {
    this.work = this.work
      .then(() => (link === this.link ? this.onMessage(message, now) : undefined))
      .catch((error: unknown) => this.reportError(error));
  }

  /** Measures the round trip and, over datagrams, sends reports. */
  private startTimers(link: Link): void {
    const ping = (): void => link.send({ ping: performance.now() });
    this.timers.push(setInterval(ping, PING_INTERVAL_MS));
    ping();
    if (link.transport === "WebSocket") return;
    const reportedAt = new Map<Receiver, number>();
    const report = (): void => {
      const now = performance.now();
      for (const [of, { receiver }] of this.byNumber) {
        if (
          now - (reportedAt.get(receiver) ?? 0) <
          (receiver.waiting ? URGENT_REPORT_INTERVAL_MS : REPORT_INTERVAL_MS)
        )
          continue;
        reportedAt.set(receiver, now);
        link.send({ of, ...receiver.report() });
      }
      for (const receiver of reportedAt.keys())
        if (![...this.byNumber.values()].some((one) => one.receiver === receiver))
          reportedAt.delete(receiver);
    };
    this.timers.push(setInterval(report, URGENT_REPORT_INTERVAL_MS));
  }

  private stopTimers(): void {
    this.timers.splice(0).forEach(clearInterval);
  }

  private reconnect(): void {
    this.stopTimers();
    this.link = null;
    this.removeAll();
    this.emit("lost");
    const wait = Math.min(RETRY_AFTER_MS * 2 ** this.failed++, MAX_WAIT_MS);
    setTimeout(() => {
      if (!this.closed) this.connect().catch(() => this.reconnect());
    }, wait);
  }

  private removeAll(): void {
    for (const number of [...this.byNumber.keys()]) this.leave(number);
    this.names.clear();
  }

  private async onMessage(data: RelayMessage | ArrayBuffer, now: number): Promise<void> {
    if (!(data instanceof ArrayBuffer)) {
      this.applyMessage(data, now);
      return;
    }
    for (const { number, bytes } of items(data)) {
      if (isHello(bytes)) await this.join(number, bytes);
      else {
        const performer = this.byNumber.get(number);
        for (const pose of performer?.take(bytes, now) ?? [])
          this.emit("pose", performer!.name, pose, performer!);
      }
    }
  }

  private applyMessage({ join, name, leave, here, pong, trips }: RelayMessage, now: number): void {
    if (here) {
      const known = Object.entries(here).map(([n, who]) => [Number(n), String(who)] as const);
      known.forEach(([n, who]) => this.names.set(n, who));
      const left = [...this.byNumber.keys()].filter((n) => !known.some(([m]) => m === n));
      left.forEach((n) => this.leave(n));
    }
    if (typeof join === "number") this.names.set(join, String(name));
    if (typeof leave === "number") this.leave(leave);
    if (typeof pong === "number") this.trips.own = Math.max(0, now - pong) / 1000;
    for (const [number, trip] of Object.entries(trips ?? {})) {
      const performer = this.byNumber.get(Number(number));
      if (performer && trip >= 0) performer.trip = trip;
    }
  }

  private async join(number: number, bytes: Uint8Array): Promise<void> {
    if (!this.names.has(number)) return; // the relay sends the name, then the hello again
    const before = this.hellos.get(number);
    if (before?.length === bytes.length && before.every((byte, i) => byte === bytes[i])) return; // a reminder
    const { patience = 0, delay = "auto" } = this.options;
    const receiver = await Receiver.open(await readHello(bytes), this.module, patience);
    this.leave(number);
    const name = this.names.get(number) ?? String(number);
    const performer = new StagePerformer(name, receiver, this.trips, delay);
    this.byNumber.set(number, performer);
    this.hellos.set(number, bytes.slice());
    this.performers.set(performer.name, performer);
    this.emit("join", performer);
  }

  private leave(number: number): void {
    const performer = this.byNumber.get(number);
    if (!performer) return;
    this.byNumber.delete(number);
    this.hellos.delete(number);
    if (this.performers.get(performer.name) === performer) this.performers.delete(performer.name);
    this.emit("leave", performer);
  }

  private reportError(error: unknown): void {
    const own =
      error instanceof MocpackError
        ? error
        : new MocpackError("corrupt", "message of the relay: it cannot be parsed", {
            cause: error,
          });
    this.emit("error", own);
  }

  private emit<E extends keyof StageEvents>(event: E, ...words: Parameters<StageEvents[E]>): void {
    for (const listener of this.listeners[event] ?? [])
      (listener as (...words: Parameters<StageEvents[E]>) => void)(...words);
  }
}

/** Returns the hellos and packets of a message. */
function items(data: ArrayBuffer): { number: number; bytes: Uint8Array }[] {
  const view = new DataView(data);
  const found = [];
  for (let at = 0; at < data.byteLength;) {
    const [number, size] = [view.getUint16(at, true), view.getUint32(at + 2, true)];
    at += 6;
    found.push({ number, bytes: new Uint8Array(data, at, size) });
    at += size;
  }
  return found;
}

/** A stage of a relay: who is on it, and their poses as they come. */

import { MocpackError } from "../error.js";
import type { Skeleton, WasmSource } from "../types.js";
import { isHello, readHello } from "./hello.js";
import { Player } from "./player.js";
import { loadReceiver, Receiver, type LivePose } from "./receiver.js";

const SUBPROTOCOL = "mocpack.live.2";
const [FIRST_WAIT, LONGEST_WAIT] = [100, 5000]; // milliseconds before coming back
const WINDOW = 2000; // milliseconds over which bits are measured
const PING = 1000; // milliseconds from one question how long the way is to the next

export interface LiveOptions {
  /** Opens the role `watch`; needed off the loopback. */
  token?: string;
  /** Where live.wasm is, if not beside this module. */
  wasm?: WasmSource;
  /** For node before 22, and tests. */
  WebSocket?: typeof WebSocket;
  /** Frames for which a missing one is waited for; 0 shows the newest. */
  patience?: number;
  /** Seconds that `performer.player` is behind; "auto" as much as arrivals spread. */
  delay?: number | "auto";
  signal?: AbortSignal;
}

export interface Performer {
  readonly name: string;
  readonly skeleton: Skeleton;
  readonly receiver: Receiver;
  /** The newest pose; null before the first. */
  readonly pose: LivePose | null;
  /** Says what to show at any moment: `player.at(performance.now() / 1000)`. */
  readonly player: Player;
  /** Bits a second, without the network's headers. */
  bits(): number;
  /** Share of frames that did not come. */
  loss(): number;
  /** Seconds by which arrivals spread: what a player must be behind to show 95 of 100. */
  spread(): number;
  /** Seconds from the performer to the screen: half of the round trips to the relay and from it, and the player's. */
  delay(): number;
}

export interface StageEvents {
  join: (performer: Performer) => void;
  pose: (name: string, pose: LivePose, performer: Performer) => void;
  leave: (performer: Performer) => void;
  /** The connection is lost, and being made again. */
  lost: () => void;
  error: (error: MocpackError) => void;
}

export interface Stage {
  readonly performers: ReadonlyMap<string, Performer>;
  on<E extends keyof StageEvents>(event: E, listener: StageEvents[E]): Stage;
  close(): void;
}

/**
 * Watches a stage, such as `ws://127.0.0.1:8420/stage`; http and https addresses do as well.
 *
 * Resolves once connected. A connection that is lost later is made again.
 */
export async function live(url: string | URL, options: LiveOptions = {}): Promise<Stage> {
  options.signal?.throwIfAborted();
  const module = await loadReceiver(options.wasm);
  const stage = new WatchedStage(String(url).replace(/^http/, "ws"), module, options);
  await stage.connect();
  options.signal?.addEventListener("abort", () => stage.close());
  return stage;
}

class Watched implements Performer {
  pose: LivePose | null = null;
  readonly player: Player;
  trip = 0; // seconds from the performer to the relay and back
  private arrivals: { at: number; bytes: number }[] = [];
  private first = -1;
  private decoded = 0;

  constructor(
    readonly name: string,
    readonly receiver: Receiver,
    private readonly trips: { own: number }, // seconds from here to the relay and back
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
    if (poses.length && this.first < 0) this.first = poses[0].number;
    this.decoded += poses.length;
    this.player.take(poses, now / 1000);
    this.arrivals.push({ at: now, bytes: packet.length });
    while (this.arrivals.length && this.arrivals[0].at < now - WINDOW) this.arrivals.shift();
    return poses;
  }

  bits(): number {
    const bytes = this.arrivals.reduce((sum, { bytes }) => sum + bytes, 0);
    return (8000 * bytes) / WINDOW;
  }

  loss(): number {
    const expected = this.receiver.newest - this.first + 1;
    return this.first < 0 || expected < 1 ? 0 : Math.max(0, 1 - this.decoded / expected);
  }

  spread(): number {
    return this.player.spread;
  }

  delay(): number {
    return (this.trip + this.trips.own) / 2 + this.player.delay;
  }
}

class WatchedStage implements Stage {
  readonly performers = new Map<string, Watched>();
  private readonly names = new Map<number, string>();
  private readonly byNumber = new Map<number, Watched>();
  private readonly listeners: { [E in keyof StageEvents]?: StageEvents[E][] } = {};
  private socket: WebSocket | undefined;
  private closed = false;
  private failed = 0;
  private readonly trips = { own: 0 };
  private asking: ReturnType<typeof setInterval> | undefined;
  private work: Promise<void> = Promise.resolve(); // messages are taken in order, hellos inflated

  constructor(
    private readonly url: string,
    private readonly module: WebAssembly.Module,
    private readonly options: LiveOptions,
  ) {}

  on<E extends keyof StageEvents>(event: E, listener: StageEvents[E]): Stage {
    ((this.listeners[event] ??= []) as StageEvents[E][]).push(listener);
    // who listens late still learns who is there
    if (event === "join")
      for (const performer of this.performers.values())
        (listener as StageEvents["join"])(performer);
    return this;
  }

  connect(): Promise<void> {
    const { token, WebSocket: Socket = globalThis.WebSocket } = this.options;
    const words = [SUBPROTOCOL, "role.watch", ...(token ? [`token.${token}`] : [])];
    return new Promise((resolve, reject) => {
      const socket = (this.socket = new Socket(this.url, words));
      socket.binaryType = "arraybuffer";
      let open = false;
      socket.onopen = () => {
        open = true;
        this.failed = 0;
        this.asking = setInterval(() => socket.send(ping()), PING);
        socket.send(ping());
        resolve();
      };
      socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
        const now = performance.now();
        this.work = this.work
          .then(() => (socket === this.socket ? this.hear(data, now) : undefined))
          .catch((error: unknown) => this.complain(error));
      };
      socket.onclose = () => {
        if (open) clearInterval(this.asking);
        if (!open) reject(new MocpackError("network", `${this.url} cannot be watched`));
        else if (!this.closed) this.comeBack();
      };
    });
  }

  close(): void {
    this.closed = true;
    this.socket?.close();
    this.empty();
  }

  private comeBack(): void {
    this.empty();
    this.emit("lost");
    const wait = Math.min(FIRST_WAIT * 2 ** this.failed++, LONGEST_WAIT);
    setTimeout(() => {
      if (!this.closed) this.connect().catch(() => this.comeBack());
    }, wait);
  }

  private empty(): void {
    for (const number of [...this.byNumber.keys()]) this.leave(number);
    this.names.clear();
  }

  private async hear(data: string | ArrayBuffer, now: number): Promise<void> {
    if (typeof data === "string") {
      this.told(JSON.parse(data) as Told, now);
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

  private told({ join, name, leave, pong, trips }: Told, now: number): void {
    if (typeof join === "number") this.names.set(join, String(name));
    if (typeof leave === "number") this.leave(leave);
    if (typeof pong === "number") this.trips.own = Math.max(0, now - pong) / 1000;
    for (const [number, trip] of Object.entries(trips ?? {})) {
      const performer = this.byNumber.get(Number(number));
      if (performer && trip >= 0) performer.trip = trip;
    }
  }

  private async join(number: number, bytes: Uint8Array): Promise<void> {
    const { patience = 0, delay = "auto" } = this.options;
    const receiver = await Receiver.open(await readHello(bytes), this.module, patience);
    this.leave(number);
    const name = this.names.get(number) ?? String(number);
    const performer = new Watched(name, receiver, this.trips, delay);
    this.byNumber.set(number, performer);
    this.performers.set(performer.name, performer);
    this.emit("join", performer);
  }

  private leave(number: number): void {
    const performer = this.byNumber.get(number);
    if (!performer) return;
    this.byNumber.delete(number);
    if (this.performers.get(performer.name) === performer) this.performers.delete(performer.name);
    this.emit("leave", performer);
  }

  private complain(error: unknown): void {
    const own =
      error instanceof MocpackError
        ? error
        : new MocpackError("corrupt", "a message of the relay is damaged", { cause: error });
    this.emit("error", own);
  }

  private emit<E extends keyof StageEvents>(event: E, ...words: Parameters<StageEvents[E]>): void {
    for (const listener of this.listeners[event] ?? [])
      (listener as (...words: Parameters<StageEvents[E]>) => void)(...words);
  }
}

/** What a relay says in words. */
interface Told {
  join?: number;
  name?: string;
  leave?: number;
  pong?: number;
  /** Seconds from each performer to the relay and back. */
  trips?: Record<string, number>;
}

function ping(): string {
  return JSON.stringify({ ping: performance.now() });
}

/** The hellos and packets of a message. */
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

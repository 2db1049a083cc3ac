/** Connections to a relay: WebSocket, or WebTransport datagrams, which do not block each other. */

import { MocpackError } from "../error.js";

const SUBPROTOCOL = "mocpack.live.2";
const ITEMS = "i".charCodeAt(0); // first byte of datagrams with hellos and packets
const JOIN_RETRY_MS = 250;
const MAX_TRIES = 20;
const MAX_WAIT_MS = 3000; // then WebSocket is used
const MAX_MESSAGE_BYTES = 1 << 22;

/** A JSON message of a relay. */
export interface RelayMessage {
  join?: number | false;
  name?: string;
  leave?: number;
  here?: Record<string, string>;
  pong?: number;
  /** Round-trip time between each performer and the relay, in seconds. */
  trips?: Record<string, number>;
  welcome?: string;
  refused?: string;
}

export interface LinkListener {
  /** Handles a JSON message, or hellos and packets, that arrived at `now` in milliseconds. */
  onMessage(message: RelayMessage | ArrayBuffer, now: number): void;
  /** The relay closed the connection. */
  closed(): void;
}

export interface Link {
  readonly transport: "WebSocket" | "WebTransport";
  send(words: object): void;
  close(): void;
}

export interface ConnectOptions {
  url: string;
  token: string | undefined;
  WebSocket: typeof WebSocket | undefined;
}

export function connectWebSocket(
  { url, token, WebSocket: Socket }: ConnectOptions,
  listener: LinkListener,
): Promise<Link> {
  const Chosen = Socket ?? (globalThis.WebSocket as typeof WebSocket | undefined);
  if (!Chosen)
    throw new MocpackError("unsupported", "there is no WebSocket; pass one as { WebSocket }");
  const words = [SUBPROTOCOL, "role.watch", ...(token ? [`token.${token}`] : [])];
  return new Promise((resolve, reject) => {
    const socket = new Chosen(url, words);
    socket.binaryType = "arraybuffer";
    let open = false;
    socket.onopen = () => {
      open = true;
      resolve({
        transport: "WebSocket",
        send: (said) => socket.readyState === socket.OPEN && socket.send(JSON.stringify(said)),
        close: () => socket.close(),
      });
    };
    socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) =>
      listener.onMessage(typeof data === "string" ? parseMessage(data) : data, performance.now());
    socket.onclose = () =>
      open ? listener.closed() : reject(new MocpackError("network", `${url} cannot be reached`));
  });
}

/** Returns null if the relay, the network or this browser does not support WebTransport. */
export async function connectWebTransport(
  { url, token }: ConnectOptions,
  listener: LinkListener,
): Promise<Link | null> {
  if (typeof WebTransport === "undefined") return null;
  const stage = new URL(url.replace(/^ws/, "http"));
  const answer = await fetch(new URL("/webtransport.json", stage)).catch(() => null);
  if (!answer?.ok) return null;
  const info = (await answer.json()) as { port: number; sha256: string } | null;
  if (!info) return null;
  const { port, sha256 } = info;
  const value = Uint8Array.from(sha256.match(/../g) ?? [], (byte) => parseInt(byte, 16));
  const transport = new WebTransport(`https://${stage.hostname}:${port}${stage.pathname}`, {
    serverCertificateHashes: [{ algorithm: "sha-256", value }],
  });
  const late = new Promise<false>((resolve) => setTimeout(() => resolve(false), MAX_WAIT_MS));
  const open = await Promise.race([transport.ready.then(() => true), late]).catch(() => false);
  if (!open) {
    transport.close();
    return null; // many networks block UDP
  }
  const link = new DatagramLink(transport, listener);
  try {
    await link.join(stage.pathname, token);
  } catch (error) {
    link.close();
    throw error;
  }
  return link;
}

class DatagramLink implements Link {
  readonly transport = "WebTransport";
  private readonly writer: WritableStreamDefaultWriter<Uint8Array>;
  private answered: ((reply: RelayMessage) => void) | undefined;
  private done = false;

  constructor(
    private readonly session: WebTransport,
    private readonly listener: LinkListener,
  ) {
    this.writer = session.datagrams.writable.getWriter();
    void this.listen(session.datagrams.readable, (message: Uint8Array) => this.take(message));
    void this.listen(
      session.incomingUnidirectionalStreams,
      (stream: ReadableStream<Uint8Array>) =>
        void readAll(stream).then(
          (all) => this.take(all),
          () => undefined,
        ), // an incomplete message is dropped
    );
    session.closed
      .catch(() => undefined)
      .finally(() => {
        if (!this.done && !this.answered) listener.closed();
        this.answered?.({ refused: "the connection was closed" });
      });
  }

  /** Joins the stage; repeats the request until it is answered. */
  async join(path: string, token: string | undefined): Promise<void> {
    for (let tried = 0; tried < MAX_TRIES; ++tried) {
      const answer = new Promise<RelayMessage>((resolve) => (this.answered = resolve));
      this.send({ join: path, role: "watch", token: token ?? "" });
      const wait = new Promise<null>((resolve) => setTimeout(() => resolve(null), JOIN_RETRY_MS));
      const reply = await Promise.race([answer, wait]);
      if (reply?.refused)
        throw new MocpackError("network", `the relay refuses the connection: ${reply.refused}`);
      if (reply) break;
      if (tried === MAX_TRIES - 1) throw new MocpackError("network", "the relay does not answer");
    }
    this.answered = undefined;
  }

  send(words: object): void {
    this.writer.write(new TextEncoder().encode(JSON.stringify(words))).catch(() => undefined);
  }

  close(): void {
    this.done = true;
    this.send({ bye: true });
    this.session.close();
  }

  private take(message: Uint8Array): void {
    const now = performance.now();
    if (message[0] === ITEMS) this.listener.onMessage(message.slice(1).buffer, now);
    else {
      const reply = parseMessage(new TextDecoder().decode(message));
      if (this.answered && (reply.welcome !== undefined || reply.refused)) this.answered(reply);
      else if (reply.refused || reply.join === false) this.session.close();
      else this.listener.onMessage(reply, now);
    }
  }

  private async listen<T>(source: ReadableStream<T>, take: (value: T) => void): Promise<void> {
    const reader = source.getReader();
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        take(value);
      }
    } catch {
      // `closed` reports the end of the session
    }
  }
}

async function readAll(stream: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  const reader = stream.getReader();
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    size += value.length;
    if (size > MAX_MESSAGE_BYTES)
      throw new MocpackError("corrupt", "message of the relay: it exceeds 4 MB");
  }
  const all = new Uint8Array(size);
  parts.reduce((at, part) => (all.set(part, at), at + part.length), 0);
  return all;
}

/** Parses a JSON message; returns an empty one if it is invalid. */
function parseMessage(text: string): RelayMessage {
  try {
    const reply: unknown = JSON.parse(text);
    return typeof reply === "object" && reply !== null ? (reply as RelayMessage) : {};
  } catch {
    return {};
  }
}

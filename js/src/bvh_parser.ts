/** Walks the text of a BVH once, token by token, so that every error can name its line. */

import { MocpackError } from "./error.js";
import type { Tree } from "./unit.js";

// as in .mocp files
const MAX_JOINTS = 65_535;
const MAX_NAME = 255; // bytes
const MAX_DEPTH = 10_000;
const CHANNELS = ["Xposition", "Yposition", "Zposition", "Xrotation", "Yrotation", "Zrotation"];
const [TAB, RETURN, SPACE, MINUS, POINT, ZERO, NINE] = [9, 13, 32, 45, 46, 48, 57];
const MAX_DIGITS = 15; // a double holds integers of this many digits exactly
const POWERS = Array.from({ length: MAX_DIGITS + 1 }, (_, k) => Number(`1e${k}`));
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;

export class BvhParser {
  private readonly text: string;
  private at = 0;
  private start = 0; // of the last token, for messages
  private announced = 0; // where the file says how many frames there are

  constructor(text: string) {
    this.text = text.replace(/^\ufeff/, "");
  }

  hierarchy(): Tree & { names: string[] } {
    if (!/^\s*HIERARCHY/i.test(this.text)) throw new MocpackError("format", "not a BVH file");
    const tree = {
      names: [] as string[],
      parents: [] as number[],
      offsets: [] as number[][],
      channels: [] as string[][],
      endJoints: [] as number[],
      endSites: [] as number[][],
    };
    const seen = new Set<string>();
    this.expect("HIERARCHY");
    this.expect("ROOT");
    this.beginJoint(tree, -1, seen);
    for (const stack = [0]; stack.length;) {
      const joint = stack[stack.length - 1];
      const word = this.next("a joint or its end").toUpperCase();
      if (word === "JOINT") {
        this.beginJoint(tree, joint, seen);
        stack.push(tree.names.length - 1);
        if (stack.length > MAX_DEPTH) throw this.fault(`joints nested deeper than ${MAX_DEPTH}`);
      } else if (word === "END") this.endSite(tree, joint);
      else if (word === "OFFSET") {
        if (tree.offsets[joint].length) throw this.fault(`${tree.names[joint]} has OFFSET twice`);
        tree.offsets[joint] = this.vector();
      } else if (word === "CHANNELS") {
        if (tree.channels[joint].length)
          throw this.fault(`${tree.names[joint]} has CHANNELS twice`);
        tree.channels[joint] = this.channels();
      } else if (word === "}") {
        if (!tree.offsets[joint].length) throw this.fault(`${tree.names[joint]} has no OFFSET`);
        stack.pop();
      } else throw this.fault(`expected JOINT, End Site, OFFSET, CHANNELS or }, got ${cut(word)}`);
    }
    return sortedEnds(tree);
  }

  motionHead(): { frameCount: number; frameTime: number } {
    const word = this.next("MOTION").toUpperCase();
    if (word === "ROOT") throw this.fault("the file has several roots");
    if (word !== "MOTION") throw this.fault(`expected MOTION, got ${cut(word)}`);
    this.label(/\s*FRAMES\s*:/iy, "Frames:");
    const frameCount = this.integer("a number of frames", 1, 2 ** 40);
    this.announced = this.at;
    this.label(/\s*FRAME\s+TIME\s*:/iy, "Frame Time:");
    const frameTime = this.number("a frame time");
    if (!(frameTime >= 1e-6 && frameTime <= 1e6))
      throw this.fault(`expected a frame time in seconds, got ${frameTime}`);
    return { frameCount, frameTime };
  }

  /** The block of numbers; its size must be as announced. */
  numbers(frames: number, columns: number): Float64Array {
    if (columns < 1) throw this.fault("the skeleton has no channels");
    // at least two characters per number, so that a small file cannot request much memory
    if (frames * columns > (this.text.length - this.at + 1) / 2) {
      const message = `${frames} frames of ${columns} channels are announced, more than can follow`;
      throw this.short(message, this.announced);
    }
    const values = new Float64Array(frames * columns);
    for (let i = 0; i < values.length; ++i) {
      values[i] = this.decimal();
      if (values[i] === values[i]) continue;
      // not a plain decimal: another way to write a number, or a fault
      const word = this.token();
      if (word === undefined)
        throw this.short(`the data ends after ${Math.floor(i / columns)} of ${frames} frames`);
      values[i] = this.asNumber(word, `a number for frame ${Math.floor(i / columns)}`);
    }
    if (this.token() !== undefined)
      throw this.fault(`expected ${frames} frames, but more data follows`);
    return values;
  }

  /**
   * Fast path for decimals of at most 15 digits: dividing two exact integers gives the nearest double.
   * Returns NaN and reads nothing if the text is anything else.
   */
  private decimal(): number {
    const { text } = this;
    let at = this.at;
    let code = text.charCodeAt(at);
    while (code === SPACE || (code >= TAB && code <= RETURN)) code = text.charCodeAt(++at);
    const negative = code === MINUS;
    if (negative) code = text.charCodeAt(++at);
    let whole = 0;
    let digits = 0;
    let point = -1; // number of digits before it
    for (; ; code = text.charCodeAt(++at)) {
      if (code >= ZERO && code <= NINE) {
        whole = 10 * whole + (code - ZERO);
        ++digits;
      } else if (code === POINT && point < 0) point = digits;
      else break;
    }
    const ends = code === SPACE || (code >= TAB && code <= RETURN) || at >= text.length;
    if (!ends || digits < 1 || digits > MAX_DIGITS) return NaN;
    this.start = this.at = at;
    const value = point < 0 ? whole : whole / POWERS[digits - point];
    return negative ? -value : value;
  }

  private beginJoint(tree: Tree & { names: string[] }, parent: number, seen: Set<string>): void {
    const name = this.match(/\s*([^\r\n{}]*)/y)![1].trim();
    if (!name) throw this.fault("a joint has no name");
    if (seen.has(name)) throw this.fault(`joint names must differ, ${cut(name)} is repeated`);
    if (tree.names.length === MAX_JOINTS || new TextEncoder().encode(name).length > MAX_NAME)
      throw this.fault(`a file has at most ${MAX_JOINTS} joints, names at most ${MAX_NAME} bytes`);
    seen.add(name);
    tree.names.push(name);
    tree.parents.push(parent);
    tree.offsets.push([]);
    tree.channels.push([]);
    this.expect("{");
  }

  private endSite(tree: Tree, joint: number): void {
    for (const word of ["SITE", "{", "OFFSET"]) this.expect(word);
    tree.endSites.push(this.vector());
    tree.endJoints.push(joint);
    this.expect("}");
  }

  private channels(): string[] {
    const names: string[] = [];
    for (let left = this.integer("a number of channels", 0, 6); left > 0; --left) {
      const word = this.next("a channel");
      const name = CHANNELS.find((known) => known.toLowerCase() === word.toLowerCase());
      if (!name) throw this.fault(`expected a channel such as Zrotation, got ${cut(word)}`);
      if (names.includes(name)) throw this.fault(`a joint has the channel ${name} twice`);
      names.push(name);
    }
    return names;
  }

  private vector(): number[] {
    return [0, 1, 2].map(() => this.number("a coordinate"));
  }

  private number(what: string): number {
    return this.asNumber(this.next(what), what);
  }

  private asNumber(word: string, what: string): number {
    const value = NUMBER.test(word) ? Number(word) : NaN;
    if (!Number.isFinite(value)) throw this.fault(`expected ${what}, got ${cut(word)}`);
    return value;
  }

  private integer(what: string, low: number, high: number): number {
    const word = this.next(what);
    const value = /^\d{1,14}$/.test(word) ? Number(word) : -1;
    if (value < low || value > high)
      throw this.fault(`expected ${what} of at least ${low}, got ${cut(word)}`);
    return value;
  }

  private label(pattern: RegExp, label: string): void {
    if (!this.match(pattern)) throw this.fault(`expected ${label}, got ${cut(this.next(label))}`);
  }

  private expect(word: string): void {
    const found = this.next(word);
    if (found.toUpperCase() !== word) throw this.fault(`expected ${word}, got ${cut(found)}`);
  }

  private next(what: string): string {
    const word = this.token();
    if (word === undefined) throw this.short(`the file ends, expected ${what}`);
    return word;
  }

  private token(): string | undefined {
    return this.match(/\s*([{}]|[^\s{}]+)/y)?.[1];
  }

  /** Matches a sticky pattern at the current position and moves past it. */
  private match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found) {
      this.at = pattern.lastIndex;
      this.start = this.at - (found[1]?.length ?? 0);
    }
    return found;
  }

  private short(message: string, at = this.at): MocpackError {
    return new MocpackError("truncated", `line ${this.line(at)}: ${message}`);
  }

  private fault(message: string): MocpackError {
    return new MocpackError("corrupt", `line ${this.line(this.start)}: ${message}`);
  }

  private line(at: number): number {
    return this.text.slice(0, at).split(/\r\n|\r|\n/).length;
  }
}

/** Sorts end sites by joint, as the rest of the package requires. */
function sortedEnds<T extends Tree>(tree: T): T {
  const order = tree.endJoints
    .map((_, e) => e)
    .sort((a, b) => tree.endJoints[a] - tree.endJoints[b]);
  const endJoints = order.map((e) => tree.endJoints[e]);
  return { ...tree, endJoints, endSites: order.map((e) => tree.endSites[e]) };
}

function cut(word: string): string {
  return JSON.stringify(word.slice(0, 40));
}

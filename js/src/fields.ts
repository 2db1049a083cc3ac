/** Reads little-endian fields one after another; runs past the end throw, nothing is read there. */

import { MocpackError } from "./error.js";

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true });

export class FieldReader {
  private at = 0;
  private readonly view: DataView;

  constructor(
    private readonly bytes: Uint8Array,
    private readonly what: string,
  ) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Offset of the next field. */
  get offset(): number {
    return this.at;
  }

  raw(size: number): Uint8Array {
    const from = this.take(size);
    return this.bytes.subarray(from, from + size);
  }

  u8(): number {
    return this.bytes[this.take(1)];
  }

  u16(): number {
    return this.view.getUint16(this.take(2), true);
  }

  u32(): number {
    return this.view.getUint32(this.take(4), true);
  }

  f32(): number {
    return this.view.getFloat32(this.take(4), true);
  }

  f64(): number {
    return this.view.getFloat64(this.take(8), true);
  }

  /** An unsigned number of seven bits a byte, lowest first; exact up to 2^53. */
  varint(limit = 2 ** 63): number {
    let value = 0;
    for (let k = 0; ; ++k) {
      if (k === 10) throw this.corrupt("a number does not end");
      const byte = this.u8();
      value += (byte & 127) * 2 ** (7 * k);
      if (byte < 128) break;
    }
    if (value > limit) throw this.corrupt(`${value} where at most ${limit} can stand`);
    return value;
  }

  /** 0, -1, 1, -2, … numbered from 0. */
  signed(): number {
    const value = this.varint();
    return value % 2 === 1 ? -(value + 1) / 2 : value / 2;
  }

  /** A number of few digits, n / 10^d, or the reciprocal of one; or a double. */
  shortNumber(): number {
    const form = this.u8();
    if (form === 255) return this.f64();
    const whole = this.signed();
    if (form >= 32 || whole === 0)
      throw this.corrupt("a number of an unknown form, or of no digits");
    const scale = Number(`1e${form % 16}`);
    return form < 16 ? whole / scale : scale / whole;
  }

  sized(limit = 2 ** 53): Uint8Array {
    return this.raw(this.varint(limit));
  }

  text(limit: number): string {
    const bytes = this.sized(limit);
    try {
      return utf8.decode(bytes);
    } catch {
      throw this.corrupt("a name is not UTF-8");
    }
  }

  /** All bytes that are left. */
  rest(): Uint8Array {
    return this.raw(this.bytes.length - this.at);
  }

  /** Complains about bytes left over. */
  end(): void {
    const left = this.bytes.length - this.at;
    if (left > 0) throw this.corrupt(`${left} bytes too many`);
  }

  corrupt(message: string): MocpackError {
    return new MocpackError("corrupt", `${this.what}: ${message}`);
  }

  private take(size: number): number {
    const left = this.bytes.length - this.at;
    if (size > left)
      throw new MocpackError("truncated", `${this.what} ends ${size - left} bytes too early`);
    this.at += size;
    return this.at - size;
  }
}

/** CRC-32 as zlib computes it. */

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  for (let k = 0; k < 8; ++k) byte = byte & 1 ? (byte >>> 1) ^ 0xedb88320 : byte >>> 1;
  return byte;
});

/** The checksum of `bytes`, after those that gave `before`. */
export function crc32(bytes: Uint8Array, before = 0): number {
  let crc = ~before;
  for (let i = 0; i < bytes.length; ++i) crc = TABLE[(crc ^ bytes[i]) & 255] ^ (crc >>> 8);
  return ~crc >>> 0;
}

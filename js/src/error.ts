/** The error thrown for files: a message for people and a `kind` for programs. */

/**
 * - `format`: not a .mocp or BVH file
 * - `truncated`: the file ends too early
 * - `corrupt`: the file violates its format
 * - `unsupported`: the file is valid but needs a newer version or another codec
 * - `memory`: the request needs more memory than `memoryLimit`
 * - `network`: the file could not be fetched
 * - `clip`: the file does not have the clip, or has several and none was chosen
 */
export type ErrorKind =
  "format" | "truncated" | "corrupt" | "unsupported" | "memory" | "network" | "clip";

export class MocpackError extends Error {
  override readonly name = "MocpackError";

  constructor(
    readonly kind: ErrorKind,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

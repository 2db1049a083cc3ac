/** The one error that this package throws for files, in a sentence for people and a kind for programs. */

/**
 * - `format`: not a .mocp (or BVH) file at all
 * - `truncated`: ends too early
 * - `corrupt`: contradicts itself or its specification
 * - `unsupported`: sound, but of a newer version or another codec
 * - `memory`: sound, but what is asked of it takes more memory than `memoryLimit`
 * - `network`: could not be fetched
 */
export type ErrorKind = "format" | "truncated" | "corrupt" | "unsupported" | "memory" | "network";

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

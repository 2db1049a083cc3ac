// All that node.ts needs of node's types, which are otherwise a package of two megabytes.
declare module "node:fs/promises" {
  export function readFile(path: URL): Promise<Uint8Array<ArrayBuffer>>;
}

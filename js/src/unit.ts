/** Guesses the length unit of a file from the size of its skeleton. */

/** Meters per unit, how common the unit is, and its name. */
const CANDIDATES: [number, number, string][] = [
  [1.0, 1.0, "m"],
  [0.01, 1.0, "cm"],
  [0.001, 1.0, "mm"],
  [0.0254 / 0.45, 0.3, "CMU's 5.644cm"],
  [0.0254, 0.4, "inch"],
];
const TYPICAL = 2.1; // meters from toe to fingertip
const SPREAD = 0.45; // standard deviation of its natural logarithm

export interface Tree {
  parents: number[];
  /** In units of the file. */
  offsets: number[][];
  endJoints: number[];
  endSites: number[][];
  /** Names in the file: "Xposition", … */
  channels: string[][];
}

/** Returns meters per unit and the unit's name. `first` is the first frame's row of numbers. */
export function guessUnit(tree: Tree, first: Float64Array): [number, string] {
  const size = reach(tree, first);
  if (size <= 0) return [1.0, "m"];
  let best: [number, string] = [1.0, "m"];
  let most = -Infinity;
  for (const [unit, share, name] of CANDIDATES) {
    const likelihood = Math.log(share) - 0.5 * (Math.log((size * unit) / TYPICAL) / SPREAD) ** 2;
    if (likelihood > most) [most, best] = [likelihood, [unit, name]];
  }
  return best;
}

/** Returns the longest path along bones between two ends of the skeleton. */
function reach(tree: Tree, first: Float64Array): number {
  const lengths = boneLengths(tree, first);
  const depth = lengths.map(() => 0);
  tree.endJoints.forEach((joint, e) => {
    depth[joint] = Math.max(depth[joint], Math.hypot(...tree.endSites[e]));
  });
  let best = depth.reduce((a, b) => Math.max(a, b), 0);
  for (let j = depth.length - 1; j > 0; --j) {
    const parent = tree.parents[j];
    const through = depth[j] + lengths[j];
    best = Math.max(best, depth[parent] + through);
    depth[parent] = Math.max(depth[parent], through);
  }
  return best;
}

/** Returns bone lengths; joints with position channels use the first frame. */
function boneLengths(tree: Tree, first: Float64Array): number[] {
  let column = 0;
  const lengths = tree.offsets.map((offset, j) => {
    const place = [...offset];
    for (const channel of tree.channels[j]) {
      if (isPosition(channel)) place[axisOf(channel)] = first[column];
      ++column;
    }
    return Math.hypot(...place);
  });
  // the position of the body in the world is not a bone, whether the root or its only child stores it
  lengths[0] = 0;
  const alone = tree.parents.filter((parent) => parent === 0).length === 1;
  if (alone && tree.channels[1].some(isPosition)) lengths[1] = 0;
  return lengths;
}

export function isPosition(channel: string): boolean {
  return channel.endsWith("position");
}

/** Returns 0, 1 or 2 for a channel of axis x, y or z. */
export function axisOf(channel: string): number {
  return "XYZ".indexOf(channel[0]);
}

/** What one unit of a file without units is: a guess from the size of the skeleton in it. */

/** Metres, and how often files are in it. */
const CANDIDATES: [number, number, string][] = [
  [1.0, 1.0, "m"],
  [0.01, 1.0, "cm"],
  [0.001, 1.0, "mm"],
  [0.0254 / 0.45, 0.3, "CMU's 5.644cm"],
  [0.0254, 0.4, "inch"],
];
const TYPICAL = 2.1; // metres of reach, from a toe to a fingertip
const SPREAD = 0.45; // its deviation, as a natural logarithm

export interface Tree {
  parents: number[];
  /** In the file's units. */
  offsets: number[][];
  endJoints: number[];
  endSites: number[][];
  /** As they stand in the file: "Xposition", … */
  channels: string[][];
}

/** Metres of one unit, and its name. `first` is the first frame's row of numbers. */
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

/** The longest way through the bones from one end of the skeleton to another. */
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

/** Joints that move count where the first frame puts them. */
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
  // where a body stands in the world is not a bone, be it the root that says so or its only child
  lengths[0] = 0;
  const alone = tree.parents.filter((parent) => parent === 0).length === 1;
  if (alone && tree.channels[1].some(isPosition)) lengths[1] = 0;
  return lengths;
}

export function isPosition(channel: string): boolean {
  return channel.endsWith("position");
}

/** 0, 1 or 2 for a channel about or along x, y or z. */
export function axisOf(channel: string): number {
  return "XYZ".indexOf(channel[0]);
}

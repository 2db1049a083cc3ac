/** When to show what was received: behind the sender by as much as arrivals spread. */

import { mixed } from "../sampling.js";
import type { LivePose, Receiver } from "./receiver.js";

const WINDOW = 480; // arrivals
const SPREAD = 0.95; // of arrivals that come in time
const LONGEST_GUESS = 0.1; // seconds; then the last guess stays
const KEPT = 1; // seconds of poses
const MAX_POSES = 4096; // kept at most, since a sender may stamp any time on them
const TICK = 0.0005; // seconds: twice what time stamps are rounded to
const MOST = 0.5; // seconds behind
const OVERDUE = 1.5; // frames after which one that should be shown at once is guessed

export class Player {
  private poses: LivePose[] = [];
  private late: number[] = []; // arrival minus time stamp, in seconds
  private quickest = 0;
  private needed = 0;

  /**
   * `wanted`: seconds behind the quickest packet, 0 to show the newest; "auto" is what 95 of 100 packets need, and
   * one frame, so that there is something to slerp to, at most half a second. It may be changed at any time.
   */
  constructor(
    private readonly receiver: Receiver,
    public wanted: number | "auto" = "auto",
  ) {}

  /** Takes poses that a packet brought, at `now` in seconds of this machine's clock. */
  take(poses: LivePose[], now: number): void {
    // who has just joined gets old frames, which says nothing of the network
    const counted = this.late.length ? poses : poses.slice(-1);
    for (const { time } of counted) this.late.push(now - time);
    this.poses.push(...poses);
    if (!poses.length) return;
    this.late.splice(0, this.late.length - WINDOW);
    const sorted = [...this.late].sort((a, b) => a - b);
    this.quickest = sorted[0];
    this.needed = sorted[Math.ceil(SPREAD * (sorted.length - 1))] - sorted[0];
    const oldest = poses.at(-1)!.time - KEPT - this.delay;
    const kept = this.poses.findIndex(({ time }) => time > oldest);
    this.poses.splice(0, Math.max(0, kept - 1, this.poses.length - MAX_POSES));
  }

  /** Seconds behind the quickest packet. */
  get delay(): number {
    if (this.wanted !== "auto") return this.wanted;
    return this.late.length ? Math.min(this.needed + this.frameTime, MOST) : 0;
  }

  /** By how many seconds arrivals spread: 95 of 100 are no later than this. */
  get spread(): number {
    return this.needed;
  }

  /**
   * The pose to show at `now`; null before the first.
   *
   * Between two frames that follow one another it is slerped. After the last it is a guess, and says so; so is what
   * stands between two frames with others missing.
   */
  at(now: number): LivePose | null {
    if (!this.poses.length) return null;
    const time = now - this.quickest - this.delay;
    const after = this.poses.findIndex((pose) => pose.time > time + 1e-6);
    if (after === 0) return this.poses[0];
    if (after > 0) return between(this.poses[after - 1], this.poses[after], time);
    return this.beyond(time);
  }

  private get frameTime(): number {
    return this.receiver.every * this.receiver.hello.frameTime;
  }

  private beyond(time: number): LivePose {
    const last = this.poses.at(-1)!;
    const { frameTime } = this;
    const patience = this.delay ? TICK : OVERDUE * frameTime;
    if (time - last.time <= patience) return last;
    const ahead = Math.min(time - last.time, LONGEST_GUESS) / frameTime;
    const [near, far] = [0, 1].map((k) => this.receiver.guess(Math.floor(ahead) + k));
    if (!near || !far) return last;
    return between(near, far, near.time + (ahead - Math.floor(ahead)) * frameTime);
  }
}

function between(a: LivePose, b: LivePose, time: number): LivePose {
  const share = Math.min(1, Math.max(0, (time - a.time) / Math.max(b.time - a.time, 1e-9)));
  if (share < 1e-3) return a;
  const certain = a.certain && b.certain && b.number === a.number + 1;
  return { ...mixed(a, b, share), number: a.number, time, certain };
}

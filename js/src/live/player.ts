/** When to show what was received: behind the sender by as much as arrivals spread. */

import { interpolate } from "../sampling.js";
import type { LivePose, Receiver } from "./receiver.js";

const JITTER_WINDOW_PACKETS = 480; // arrivals
const JITTER_QUANTILE = 0.95; // of arrivals that come in time
const MAX_PREDICTION_S = 0.1; // seconds; then the last guess stays
const HISTORY_S = 1; // seconds of poses
const MAX_POSES = 4096; // kept at most, since a sender may stamp any time on them
const TIMESTAMP_TOLERANCE_S = 0.0005; // seconds: twice what time stamps are rounded to
const MAX_DELAY_S = 0.5; // seconds behind
const OVERDUE_FRAMES = 1.5; // frames after which one that should be shown at once is guessed

export class Player {
  private poses: LivePose[] = [];
  private latencies: number[] = []; // arrival minus time stamp, in seconds
  private minLatency = 0;
  private neededDelay = 0;

  /**
   * `targetDelay`: seconds behind the quickest packet, 0 to show the newest; "auto" is what 95 of 100 packets need, and
   * one frame, so that there is something to slerp to, at most half a second. It may be changed at any time.
   */
  constructor(
    private readonly receiver: Receiver,
    public targetDelay: number | "auto" = "auto",
  ) {}

  /** Takes poses that a packet brought, at `now` in seconds of this machine's clock. */
  addPoses(poses: LivePose[], now: number): void {
    // who has just joined gets old frames, which says nothing of the network
    const counted = this.latencies.length ? poses : poses.slice(-1);
    for (const { time } of counted) this.latencies.push(now - time);
    this.poses.push(...poses);
    if (!poses.length) return;
    this.latencies.splice(0, this.latencies.length - JITTER_WINDOW_PACKETS);
    const sorted = [...this.latencies].sort((a, b) => a - b);
    this.minLatency = sorted[0];
    this.neededDelay = sorted[Math.ceil(JITTER_QUANTILE * (sorted.length - 1))] - sorted[0];
    const oldest = poses.at(-1)!.time - HISTORY_S - this.delay;
    const kept = this.poses.findIndex(({ time }) => time > oldest);
    this.poses.splice(0, Math.max(0, kept - 1, this.poses.length - MAX_POSES));
  }

  /** Seconds behind the quickest packet. */
  get delay(): number {
    if (this.targetDelay !== "auto") return this.targetDelay;
    return this.latencies.length ? Math.min(this.neededDelay + this.frameTime, MAX_DELAY_S) : 0;
  }

  /** By how many seconds arrivals spread: 95 of 100 are no later than this. */
  get jitter(): number {
    return this.neededDelay;
  }

  /**
   * The pose to show at `now`; null before the first.
   *
   * Between two frames that follow one another it is slerped. After the last it is a guess, and says so; so is what
   * stands between two frames with others missing.
   */
  at(now: number): LivePose | null {
    if (!this.poses.length) return null;
    const time = now - this.minLatency - this.delay;
    const after = this.poses.findIndex((pose) => pose.time > time + 1e-6);
    if (after === 0) return this.poses[0];
    if (after > 0) return interpolate(this.poses[after - 1], this.poses[after], time);
    return this.predictAt(time);
  }

  private get frameTime(): number {
    return this.receiver.frameStep * this.receiver.hello.frameTime;
  }

  private predictAt(time: number): LivePose {
    const last = this.poses.at(-1)!;
    const { frameTime } = this;
    const patience = this.delay ? TIMESTAMP_TOLERANCE_S : OVERDUE_FRAMES * frameTime;
    if (time - last.time <= patience) return last;
    const ahead = Math.min(time - last.time, MAX_PREDICTION_S) / frameTime;
    const [near, far] = [0, 1].map((k) => this.receiver.predict(Math.floor(ahead) + k));
    if (!near || !far) return last;
    return interpolate(near, far, near.time + (ahead - Math.floor(ahead)) * frameTime);
  }
}

function interpolate(a: LivePose, b: LivePose, time: number): LivePose {
  const share = Math.min(1, Math.max(0, (time - a.time) / Math.max(b.time - a.time, 1e-9)));
  if (share < 1e-3) return a;
  const isExact = a.isExact && b.isExact && b.frameNumber === a.frameNumber + 1;
  return { ...interpolate(a, b, share), frameNumber: a.frameNumber, time, isExact };
}

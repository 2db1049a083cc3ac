/** Jitter buffer: decides when to show received poses, and fills gaps. */

import { interpolatePoses } from "../sampling.js";
import type { LivePose, Receiver } from "./receiver.js";

const JITTER_WINDOW_PACKETS = 480;
const JITTER_QUANTILE = 0.95; // share of packets that arrive in time
const MAX_PREDICTION_S = 0.1; // the prediction stops moving after this time
const HISTORY_S = 1; // poses are kept this long
const MAX_POSES = 4096; // a sender can put any time on poses, so HISTORY_S alone does not limit them
const TIMESTAMP_TOLERANCE_S = 0.0005; // twice the rounding of time stamps
const MAX_DELAY_S = 0.5;
const OVERDUE_FRAMES = 1.5; // without delay, a frame is predicted when it is this late

export class Player {
  private poses: LivePose[] = [];
  private latencies: number[] = []; // arrival minus time stamp, in seconds
  private minLatency = 0;
  private neededDelay = 0;

  /**
   * `targetDelay`: seconds behind the fastest packet; 0 shows the newest pose. "auto" is the 95th percentile of packet
   * delay plus one frame, at most half a second. It can be changed at any time.
   */
  constructor(
    private readonly receiver: Receiver,
    public targetDelay: number | "auto" = "auto",
  ) {}

  /** Adds the poses of a packet that arrived at `now`, in seconds of this machine's clock. */
  addPoses(poses: LivePose[], now: number): void {
    // The first packet also holds old frames. Their age says nothing about the network.
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

  /** Seconds behind the fastest packet. */
  get delay(): number {
    if (this.targetDelay !== "auto") return this.targetDelay;
    return this.latencies.length ? Math.min(this.neededDelay + this.frameTime, MAX_DELAY_S) : 0;
  }

  /** 95th percentile of packet delay in seconds, relative to the fastest packet. */
  get jitter(): number {
    return this.neededDelay;
  }

  /**
   * Returns the pose to show at `now`; null before the first.
   *
   * Between frames the pose is interpolated, after the last frame it is predicted. It is exact (`isExact`) only if no
   * frame is missing at `now`.
   */
  at(now: number): LivePose | null {
    if (!this.poses.length) return null;
    const time = now - this.minLatency - this.delay;
    const after = this.poses.findIndex((pose) => pose.time > time + 1e-6);
    if (after === 0) return this.poses[0];
    if (after > 0) return interpolatePose(this.poses[after - 1], this.poses[after], time);
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
    return interpolatePose(near, far, near.time + (ahead - Math.floor(ahead)) * frameTime);
  }
}

function interpolatePose(a: LivePose, b: LivePose, time: number): LivePose {
  const share = Math.min(1, Math.max(0, (time - a.time) / Math.max(b.time - a.time, 1e-9)));
  if (share < 1e-3) return a;
  const isExact = a.isExact && b.isExact && b.frameNumber === a.frameNumber + 1;
  return { ...interpolatePoses(a, b, share), frameNumber: a.frameNumber, time, isExact };
}

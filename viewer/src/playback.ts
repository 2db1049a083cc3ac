// The playback clock. It shows whole frames only, so that every visible pose is in the file.

export const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4];

export class Playback {
  playing = false;
  loop = true;
  speed = 1;
  private time = 0;

  constructor(
    readonly frameCount: number,
    readonly frameTime: number,
  ) {}

  get frame(): number {
    return Math.min(Math.floor(this.time / this.frameTime + 1e-6), this.frameCount - 1);
  }

  get seconds(): number {
    return this.frame * this.frameTime;
  }

  get duration(): number {
    return this.frameCount * this.frameTime;
  }

  seek(frame: number): void {
    this.time = Math.min(Math.max(Math.round(frame), 0), this.frameCount - 1) * this.frameTime;
  }

  toggle(): void {
    this.playing = !this.playing;
    if (this.playing && !this.loop && this.frame === this.frameCount - 1) this.seek(0);
  }

  /** Advances by `seconds` of real time; waits for frames that are not loaded. */
  advance(seconds: number, isThere: (frame: number) => boolean): void {
    if (!this.playing || this.frameCount < 2) return;
    const before = this.time;
    this.time += seconds * this.speed;
    if (this.time >= this.duration) {
      if (this.loop) this.time %= this.duration;
      else {
        this.seek(this.frameCount - 1);
        this.playing = false;
      }
    }
    if (!isThere(this.frame)) this.time = before;
  }
}

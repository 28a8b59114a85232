// Time: where it is, and how it runs.

import type { Results } from "../data/results";

export const SPEEDS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

export class Player {
  t = 0;
  playing = false;
  loop = true;
  speed = 1;
  /** The chapter that is played; nothing for all there is. */
  span: [number, number] | null = null;
  /** Other runs: time runs until the last of them ends. */
  beside: Results[] = [];
  /** Whether more is to come, so that the end is waited at. */
  growing = false;
  /** Shows a time; false while its frame is not here. */
  show: (t: number) => boolean = () => true;
  onChange: () => void = () => undefined;
  private last = 0;

  constructor(private readonly results: Results) {
    const span = this.end - this.start;
    // real time where that is watchable, else about eight seconds for the whole
    if (span > 0 && (span < 0.8 || span > 90)) {
      this.speed = SPEEDS.reduce((best, s) => (Math.abs(Math.log((s * 8) / span)) < Math.abs(Math.log((best * 8) / span)) ? s : best));
    }
    this.t = this.start;
  }

  get start(): number {
    return this.span?.[0] ?? Math.min(...this.all((times) => times[0]));
  }

  get end(): number {
    return this.span?.[1] ?? Math.max(...this.all((times) => times[times.length - 1]));
  }

  private all(time: (times: Float64Array) => number | undefined): number[] {
    return [this.results, ...this.beside].map((r) => time(r.times) ?? 0);
  }

  seek(t: number): void {
    this.t = Math.min(Math.max(t, this.start), this.end);
    this.show(this.t);
    this.onChange();
  }

  /** Goes some samples on, and stands on a sample. */
  step(rows: number): void {
    this.pause();
    const { row, share } = this.results.locate(this.t);
    const from = rows < 0 && share > 0 ? row + 1 : row;
    const to = Math.min(Math.max(from + rows, 0), this.results.rows - 1);
    this.seek(this.results.times[to] ?? 0);
  }

  play(): void {
    if (!(this.end > this.start)) return;
    if (this.t >= this.end) this.t = this.start;
    this.playing = true;
    this.last = 0;
    this.onChange();
  }

  pause(): void {
    this.playing = false;
    this.onChange();
  }

  toggle(): void {
    if (this.playing) this.pause();
    else this.play();
  }

  faster(steps: number): void {
    const at = SPEEDS.indexOf(this.speed);
    this.speed = SPEEDS[Math.min(Math.max((at < 0 ? 9 : at) + steps, 0), SPEEDS.length - 1)];
    this.onChange();
  }

  /** Lets time pass. */
  tick(now: number): void {
    if (!this.playing) return;
    const passed = this.last ? Math.min(0.25, (now - this.last) / 1000) : 0;
    this.last = now;
    let next = this.t + passed * this.speed;
    if (next >= this.end) {
      if (this.loop && !this.growing) next = this.start + ((next - this.end) % Math.max(this.end - this.start, 1e-300));
      else {
        this.t = this.end;
        this.show(this.t);
        this.pause();
        return;
      }
    }
    if (this.show(next)) this.t = next; // else wait for its frame
    this.onChange();
  }
}

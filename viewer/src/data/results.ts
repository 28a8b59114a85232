import type { Channels, Source, Status } from "./source";

/** Columns that were read are kept, up to so many bytes. */
const KEPT = 256 * 2 ** 20;

/** A result: its times, its channels, and their columns when they are asked for. */
export class Results {
  times = new Float64Array(0);
  names: string[] = [];
  units: string[] = [];
  private index = new Map<string, number>();
  private cache = new Map<number, Promise<Float64Array>>();
  /** Columns that have arrived. */
  private arrived = new Map<number, Float64Array>();

  constructor(readonly source: Source, public status: Status) {}

  get rows(): number {
    return this.times.length;
  }

  /** Reads the channels and the times, also again when there are more rows. */
  async read(channels: Channels): Promise<void> {
    this.names = channels.names;
    this.units = channels.units;
    this.index = new Map(channels.names.map((name, i) => [name, i]));
    const times = await this.source.columns([0], 0, channels.rows);
    this.times = times as Float64Array<ArrayBuffer>;
    this.cache.clear();
    this.arrived.clear();
  }

  /** The column of a name, or −1. */
  find(name: string): number {
    return this.index.get(name) ?? -1;
  }

  /** The values of a column. */
  column(i: number): Promise<Float64Array> {
    const known = this.cache.get(i);
    if (known) {
      this.cache.delete(i); // the last used is last
      this.cache.set(i, known);
      return known;
    }
    const read = i === 0
      ? Promise.resolve(this.times)
      : this.source.columns([i], 0, this.rows).then((values) => values as Float64Array<ArrayBuffer>);
    this.cache.set(i, read);
    read.then((values) => this.cache.get(i) === read && this.arrived.set(i, values), () => this.cache.delete(i));
    const most = Math.max(8, Math.floor(KEPT / (8 * Math.max(1, this.rows))));
    for (const old of this.cache.keys()) {
      if (this.cache.size <= most) break;
      this.cache.delete(old);
      this.arrived.delete(old);
    }
    return read;
  }

  /** The values of a column if they are here. */
  here(i: number): Float64Array | undefined {
    return i === 0 ? this.times : this.arrived.get(i);
  }

  /** The last row whose time is at most t, and the share of the way to the next one. */
  locate(t: number): { row: number; share: number } {
    const times = this.times;
    const n = times.length;
    if (n < 2 || !(t > times[0])) return { row: 0, share: 0 };
    if (t >= times[n - 1]) return { row: n - 1, share: 0 };
    let [low, high] = [0, n - 1]; // times[low] ≤ t < times[high]
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (times[middle] <= t) low = middle;
      else high = middle;
    }
    const step = times[high] - times[low];
    return { row: low, share: step > 0 ? (t - times[low]) / step : 0 };
  }

  /** A column's value at a time, on the line between two samples; nothing if it is not here. */
  value(i: number, t: number): number | undefined {
    const column = this.here(i);
    if (!column?.length) return undefined;
    const { row, share } = this.locate(t);
    const a = column[row];
    return share === 0 ? a : a + share * (column[row + 1] - a);
  }
}

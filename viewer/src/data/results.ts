import { ChannelNames } from "./channels";
import { number } from "./names";
import type { Channels, Source, Status } from "./source";

/** Columns that were read are kept, up to so many bytes. */
const KEPT = 256 * 2 ** 20;
/** A smaller share of the largest value is rounding. */
const NOISE = 1e-9;

/** Numbers with more behind them; the room grows by doubling. */
export function append(old: Float64Array<ArrayBuffer>, more: Float64Array): Float64Array<ArrayBuffer> {
  const n = old.length + more.length;
  const fits = old.byteOffset === 0 && old.buffer.byteLength >= 8 * n;
  const out = fits ? new Float64Array(old.buffer, 0, n) : new Float64Array(new ArrayBuffer(16 * n), 0, n);
  if (!fits) out.set(old);
  out.set(more, old.length);
  return out;
}

/** A result: its times, its channels, and their columns when they are asked for. */
export class Results {
  times = new Float64Array(0);
  names = ChannelNames.of([], []);
  private cache = new Map<number, Promise<Float64Array>>();
  /** Columns that have arrived. */
  private arrived = new Map<number, Float64Array>();
  private readonly largest = new Map<number, { rows: number; most: number }>();

  constructor(readonly source: Source, public status: Status) {}

  get rows(): number {
    return this.times.length;
  }

  /** Reads the channels and the times, also again when there are more rows. */
  async read(channels: Channels): Promise<void> {
    this.names = channels.names;
    const times = await this.source.columns([0], 0, channels.rows);
    this.times = times as Float64Array<ArrayBuffer>;
    this.cache.clear();
    this.arrived.clear();
  }

  /** There are more rows: reads them, of the times and of all columns that are here. */
  async extend(rows: number): Promise<void> {
    const from = this.rows;
    if (rows <= from) return;
    const known = [...this.arrived.keys()];
    const more = (await this.source.columns([0, ...known], from, rows)) as Float64Array<ArrayBuffer>;
    const n = rows - from;
    this.times = append(this.times, more.subarray(0, n));
    known.forEach((c, k) => {
      const column = this.arrived.get(c);
      if (!column) return;
      const longer = append(column as Float64Array<ArrayBuffer>, more.subarray((k + 1) * n, (k + 2) * n));
      this.arrived.set(c, longer);
      this.cache.set(c, Promise.resolve(longer));
    });
    // what is still being read will be too short
    for (const c of [...this.cache.keys()]) if (this.arrived.get(c)?.length !== rows) this.forget(c);
  }

  private forget(c: number): void {
    this.cache.delete(c);
    this.arrived.delete(c);
  }

  /** The column of a name, or −1. */
  find(name: string, ending = ""): number {
    return this.names.find(name, ending);
  }

  name(column: number): string {
    return this.names.name(column);
  }

  unit(column: number): string {
    return this.names.unit(column);
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

  /** Whether there are values at a time. */
  covers(t: number): boolean {
    const { times } = this;
    const slack = 1e-9 * ((times[times.length - 1] ?? 0) - (times[0] ?? 0));
    return times.length > 0 && t >= times[0] - slack && t <= times[times.length - 1] + slack;
  }

  /** A column's value at a time, on the line between two samples; nothing if it is not here. */
  value(i: number, t: number): number | undefined {
    const column = this.here(i);
    if (!column?.length) return undefined;
    const { row, share } = this.locate(t);
    const a = column[row];
    return share === 0 ? a : a + share * (column[row + 1] - a);
  }

  /**
   * The same in words. 0 is what is below the tolerance of a step, a tenth of the run's, of the largest value of its column, and a billionth of the
   * largest with its unit, of all columns that are here.
   */
  told(i: number, t: number): string {
    const x = this.value(i, t);
    if (x === undefined) return number(x);
    const own = this.arrived.get(i);
    const least = Math.max(NOISE * this.scale(this.unit(i)), own ? 0.1 * this.tolerance * this.largestOf(i, own) : 0);
    return number(Math.abs(x) < least ? 0 : x);
  }

  /** The relative tolerance of the run, where its summary tells one. */
  private get tolerance(): number {
    const { summary } = this.status as { summary?: { plan?: { step?: { value?: unknown } } } | null };
    const found = /rtol ([0-9.e+-]+)/.exec(String(summary?.plan?.step?.value ?? ""));
    const rtol = found ? Number(found[1]) : 0;
    return rtol > 0 && rtol < 1 ? rtol : 0;
  }

  /** The largest value with a unit. */
  private scale(unit: string): number {
    let most = 0;
    for (const [c, column] of this.arrived) if (c > 0 && this.unit(c) === unit) most = Math.max(most, this.largestOf(c, column));
    return most;
  }

  private largestOf(c: number, column: Float64Array): number {
    const known = this.largest.get(c);
    if (known?.rows === column.length) return known.most;
    let most = 0;
    for (const x of column) if (Math.abs(x) > most && Math.abs(x) < Infinity) most = Math.abs(x);
    this.largest.set(c, { rows: column.length, most });
    return most;
  }
}

// The names and units of all columns. A result may have a million of them, so they stay bytes until one is asked for.

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const DOT = 46;

export class ChannelNames {
  readonly count: number;
  /** Columns by the digest of their names, plus one; zero is free. */
  private readonly table: Int32Array;
  private key = new Uint8Array(256);

  /** `ends` tells where each name ends in `text`, `kinds` which of the units each column has. */
  constructor(
    private readonly text: Uint8Array, private readonly ends: Uint32Array, private readonly kinds: Uint16Array, private readonly units: string[],
  ) {
    this.count = ends.length;
    let size = 16;
    while (size < 1.6 * this.count) size *= 2;
    this.table = new Int32Array(size);
    for (let i = 0; i < this.count; i++) {
      let at = digest(text, this.start(i), ends[i]) & (size - 1);
      while (this.table[at] !== 0) at = (at + 1) & (size - 1);
      this.table[at] = i + 1;
    }
  }

  static of(names: string[], units: string[]): ChannelNames {
    const parts = names.map((n) => encoder.encode(n));
    const ends = new Uint32Array(parts.length);
    let end = 0;
    parts.forEach((p, i) => (ends[i] = end += p.length));
    const text = new Uint8Array(end);
    parts.forEach((p, i) => text.set(p, ends[i] - p.length));
    const kinds = [...new Set(units)];
    const place = new Map(kinds.map((u, k) => [u, k]));
    return new ChannelNames(text, ends, Uint16Array.from(names, (_, i) => place.get(units[i]) ?? 0), kinds);
  }

  private start(i: number): number {
    return i === 0 ? 0 : this.ends[i - 1];
  }

  name(i: number): string {
    return this.decode(this.start(i), this.ends[i]);
  }

  unit(i: number): string {
    return this.units[this.kinds[i]] ?? "";
  }

  /** The column of the name `stem` + `ending`, or −1. */
  find(stem: string, ending = ""): number {
    const size = this.table.length;
    const n = this.write(stem, ending);
    let at = digest(this.key, 0, n) & (size - 1);
    for (; this.table[at] !== 0; at = (at + 1) & (size - 1)) {
      if (this.same(this.table[at] - 1, n)) return this.table[at] - 1;
    }
    return -1;
  }

  /** All columns with a name that is `stem`, a dot and something without one; for no stem, those without a dot. */
  under(stem: string): number[] {
    const n = this.write(stem, "");
    const found: number[] = [];
    for (let i = 0; i < this.count; i++) if (this.stemEnd(i) === this.start(i) + n && this.begins(i, n)) found.push(i);
    return found;
  }

  /** Calls `see` with what stands before the last dot of names, and the column where it first does in a row. */
  stems(see: (stem: string, column: number) => void): void {
    let [from, to] = [0, -1];
    for (let i = 0; i < this.count; i++) {
      const [a, b] = [this.start(i), this.stemEnd(i)];
      let same = b - a === to - from;
      for (let k = 0; same && k < b - a; k++) same = this.text[a + k] === this.text[from + k];
      if (!same) see(this.decode(a, b), i);
      [from, to] = [a, b];
    }
  }

  /** Where the last dot of a name is; its start if there is none. */
  private stemEnd(i: number): number {
    const start = this.start(i);
    for (let k = this.ends[i] - 1; k > start; k--) if (this.text[k] === DOT) return k;
    return start;
  }

  private decode(from: number, to: number): string {
    let out = "";
    for (let k = from; k < to; k++) {
      if (this.text[k] > 127) return decoder.decode(this.text.subarray(from, to));
      out += String.fromCharCode(this.text[k]);
    }
    return out;
  }

  /** Writes a name into the key, and tells its length. */
  private write(stem: string, ending: string): number {
    const most = 3 * (stem.length + ending.length);
    if (most > this.key.length) this.key = new Uint8Array(2 * most);
    const n = encoder.encodeInto(stem, this.key).written;
    return n + encoder.encodeInto(ending, this.key.subarray(n)).written;
  }

  private begins(i: number, n: number): boolean {
    const start = this.start(i);
    for (let k = 0; k < n; k++) if (this.text[start + k] !== this.key[k]) return false;
    return true;
  }

  private same(i: number, n: number): boolean {
    return this.ends[i] - this.start(i) === n && this.begins(i, n);
  }
}

/** Fowler, Noll and Vo's digest of some bytes. */
function digest(bytes: Uint8Array, from: number, to: number): number {
  let d = 0x811c9dc5;
  for (let k = from; k < to; k++) d = Math.imul(d ^ bytes[k], 0x01000193);
  return (d ^ (d >>> 15)) >>> 0;
}

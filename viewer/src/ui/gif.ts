// Animated GIF, written without help: one palette, and of each frame the box that changed. [GIF89a; Welch 1984]

/** Bits of a channel that decide about a colour. */
const BITS = 5;
const SIDE = 1 << BITS;

/** The place of a colour in a table of all coarse ones. */
const coarse = (r: number, g: number, b: number): number => ((r >> (8 - BITS)) << (2 * BITS)) | ((g >> (8 - BITS)) << BITS) | (b >> (8 - BITS));

interface Box { colours: number[]; pixels: number }

/** At most 256 colours that stand for those of the pictures: boxes of colours are cut at their median. */
export function palette(pictures: Uint8ClampedArray[]): number[][] {
  const count = new Uint32Array(SIDE ** 3);
  for (const data of pictures) for (let i = 0; i < data.length; i += 4) count[coarse(data[i], data[i + 1], data[i + 2])]++;
  const channel = (c: number, k: number) => (c >> (BITS * (2 - k))) & (SIDE - 1);
  const all = [...count.keys()].filter((c) => count[c] > 0);
  const weigh = (colours: number[]): Box => ({ colours, pixels: colours.reduce((n, c) => n + count[c], 0) });
  const boxes = [weigh(all)];
  const span = (colours: number[], k: number) => {
    let [low, high] = [SIDE, 0];
    for (const c of colours) [low, high] = [Math.min(low, channel(c, k)), Math.max(high, channel(c, k))];
    return high - low;
  };
  while (boxes.length < 256) {
    const spread = (b: Box) => (b.colours.length < 2 ? 0 : Math.max(...[0, 1, 2].map((k) => span(b.colours, k))) * Math.sqrt(b.pixels));
    const widest = boxes.reduce((best, b) => (spread(b) > spread(best) ? b : best));
    if (spread(widest) === 0) break;
    const k = [0, 1, 2].reduce((best, k) => (span(widest.colours, k) > span(widest.colours, best) ? k : best));
    const sorted = [...widest.colours].sort((a, b) => channel(a, k) - channel(b, k));
    let [cut, seen] = [0, 0];
    while (cut < sorted.length - 1 && seen + count[sorted[cut]] <= widest.pixels / 2) seen += count[sorted[cut++]];
    cut = Math.max(1, cut);
    boxes.splice(boxes.indexOf(widest), 1, weigh(sorted.slice(0, cut)), weigh(sorted.slice(cut)));
  }
  const whole = (c: number, k: number) => Math.round((channel(c, k) * 255) / (SIDE - 1));
  return boxes.map(({ colours, pixels }) => [0, 1, 2].map((k) => Math.round(colours.reduce((sum, c) => sum + whole(c, k) * count[c], 0) / Math.max(1, pixels))));
}

/** The codes of Lempel, Ziv and Welch for indices of 8 bits, in blocks of 255 bytes. */
function packed(indices: Uint8Array, out: number[]): void {
  const [clear, end] = [256, 257];
  let [bits, held, size, next] = [0, 0, 9, 258];
  let codes = new Map<number, number>();
  const block: number[] = [];
  const flush = () => {
    if (block.length) out.push(block.length, ...block);
    block.length = 0;
  };
  const put = (code: number) => {
    held |= code << bits;
    for (bits += size; bits >= 8; bits -= 8) {
      block.push(held & 255);
      if (block.length === 255) flush();
      held >>>= 8;
    }
  };
  out.push(8);
  put(clear);
  let prefix = indices[0];
  for (let i = 1; i < indices.length; i++) {
    const key = (prefix << 8) | indices[i];
    const known = codes.get(key);
    if (known !== undefined) {
      prefix = known;
      continue;
    }
    put(prefix);
    if (next < 4096) {
      if (next === 1 << size) size++;
      codes.set(key, next++);
    } else {
      put(clear);
      [codes, size, next] = [new Map(), 9, 258];
    }
    prefix = indices[i];
  }
  put(prefix);
  if (next === 1 << size && size < 12) size++;
  put(end);
  if (bits > 0) block.push(held & 255);
  flush();
  out.push(0);
}

export class Gif {
  private readonly parts: Uint8Array[] = [];
  private readonly nearest = new Int16Array(SIDE ** 3).fill(-1);
  private before: Uint8Array | null = null;

  constructor(private readonly width: number, private readonly height: number, private readonly colours: number[][]) {
    const word = (n: number) => [n & 255, n >> 8];
    const table = Array.from({ length: 256 }, (_, k) => colours[k] ?? [0, 0, 0]).flat();
    const repeat = [0x21, 0xff, 11, ..."NETSCAPE2.0"].map((c) => (typeof c === "string" ? c.charCodeAt(0) : c));
    const head = [..."GIF89a"].map((c) => c.charCodeAt(0));
    this.parts.push(Uint8Array.from([...head, ...word(width), ...word(height), 0xf7, 0, 0, ...table, ...repeat, 3, 1, 0, 0, 0]));
  }

  private index(r: number, g: number, b: number): number {
    const at = coarse(r, g, b);
    if (this.nearest[at] < 0) {
      const far = (c: number[]) => (c[0] - r) ** 2 + (c[1] - g) ** 2 + (c[2] - b) ** 2;
      this.nearest[at] = this.colours.reduce((best, c, k) => (far(c) < far(this.colours[best]) ? k : best), 0);
    }
    return this.nearest[at];
  }

  /** A frame that stands for some hundredths of a second. */
  add(data: Uint8ClampedArray, hundredths: number): void {
    const { width, height, before } = this;
    const now = new Uint8Array(width * height);
    let [left, right, top, bottom] = [width, -1, height, -1];
    for (let y = 0, k = 0; y < height; y++) {
      for (let x = 0; x < width; x++, k++) {
        now[k] = this.index(data[4 * k], data[4 * k + 1], data[4 * k + 2]);
        if (before && before[k] === now[k]) continue;
        [left, right, top, bottom] = [Math.min(left, x), Math.max(right, x), Math.min(top, y), y];
      }
    }
    if (right < 0) [left, right, top, bottom] = [0, 0, 0, 0];
    const [w, h] = [right - left + 1, bottom - top + 1];
    const box = new Uint8Array(w * h);
    for (let y = 0; y < h; y++) box.set(now.subarray((top + y) * width + left, (top + y) * width + left + w), y * w);
    const word = (n: number) => [n & 255, n >> 8];
    const out = [0x21, 0xf9, 4, 4, ...word(hundredths), 0, 0, 0x2c, ...word(left), ...word(top), ...word(w), ...word(h), 0];
    packed(box, out);
    this.parts.push(Uint8Array.from(out));
    this.before = now;
  }

  blob(): Blob {
    return new Blob([...this.parts, Uint8Array.of(0x3b)] as BlobPart[], { type: "image/gif" });
  }
}

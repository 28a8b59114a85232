// The files that hold an encoded film: MP4 [ISO/IEC 14496-12, -15] and WebM [RFC 8794, RFC 9559], each written as a whole.

/** An encoded picture; `key` ones need no other to be decoded. */
export interface Chunk { data: Uint8Array; key: boolean }

/** A film of pictures that are equally far apart. */
export interface Track { width: number; height: number; rate: number; chunks: Chunk[] }

type Part = number[] | Uint8Array;

function join(parts: Part[]): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
  let at = 0;
  for (const p of parts) {
    out.set(p, at);
    at += p.length;
  }
  return out;
}

/** The bytes of a whole number, the highest first. */
function bytes(x: number, count: number): number[] {
  return Array.from({ length: count }, (_, k) => Math.floor(x / 256 ** (count - 1 - k)) % 256);
}

const letters = (text: string) => [...text].map((c) => c.charCodeAt(0));

// ————————————————————————————— MP4 —————————————————————————————

const u16 = (x: number) => bytes(x, 2);
const u32 = (x: number) => bytes(x, 4);
/** A number with 16 bits behind the point. */
const fixed = (x: number) => u32(x * 65536);
const UNIT_MATRIX = [1, 0, 0, 0, 1, 0, 0, 0, 16384].flatMap(fixed); // the last has 30 bits behind the point

function box(type: string, ...parts: Part[]): Uint8Array {
  const inside = join(parts);
  return join([u32(8 + inside.length), letters(type), inside]);
}

/** A box with a version and flags. */
const full = (type: string, flags: number, ...parts: Part[]) => box(type, u32(flags), ...parts);

/** An MP4 of H.264 pictures; `avcc` is the decoder's configuration. */
export function mp4({ width, height, rate, chunks }: Track, avcc: Uint8Array): Uint8Array<ArrayBuffer> {
  const n = chunks.length;
  const scale = 1000 * rate; // ticks a second
  const duration = u32(1000 * n);
  const size = [...u16(width), ...u16(height)];
  const avc1 = box("avc1", [0, 0, 0, 0, 0, 0, 0, 1], Array(16).fill(0), size, fixed(72), fixed(72), u32(0), u16(1), Array(32).fill(0), u16(24), [255, 255], box("avcC", avcc));
  const ftyp = box("ftyp", letters("isom"), u32(512), letters("isomiso2avc1mp41"));
  const sync = chunks.flatMap((c, k) => (c.key ? u32(k + 1) : []));
  const moov = (offset: number) => box("moov",
    full("mvhd", 0, u32(0), u32(0), u32(scale), duration, fixed(1), u16(256), Array(10).fill(0), UNIT_MATRIX, Array(24).fill(0), u32(2)),
    box("trak",
      full("tkhd", 3, u32(0), u32(0), u32(1), u32(0), duration, Array(16).fill(0), UNIT_MATRIX, fixed(width), fixed(height)),
      box("mdia",
        full("mdhd", 0, u32(0), u32(0), u32(scale), duration, [0x55, 0xc4, 0, 0]),
        full("hdlr", 0, u32(0), letters("vide"), Array(12).fill(0), [0]),
        box("minf",
          full("vmhd", 1, Array(8).fill(0)),
          box("dinf", full("dref", 0, u32(1), full("url ", 1))),
          box("stbl",
            full("stsd", 0, u32(1), avc1),
            full("stts", 0, u32(1), u32(n), u32(1000)),
            full("stss", 0, u32(sync.length / 4), sync),
            full("stsc", 0, u32(1), u32(1), u32(n), u32(1)),
            full("stsz", 0, u32(0), u32(n), chunks.flatMap((c) => u32(c.data.length))),
            full("stco", 0, u32(1), u32(offset)))))));
  const offset = ftyp.length + moov(0).length + 8;
  return join([ftyp, moov(offset), u32(8 + chunks.reduce((sum, c) => sum + c.data.length, 0)), letters("mdat"), ...chunks.map((c) => c.data)]);
}

// ————————————————————————————— WebM —————————————————————————————

/** An element of EBML: its name, its size and what is inside. */
function element(id: number, ...parts: Part[]): Uint8Array {
  const inside = join(parts);
  const name = bytes(id, id > 0xffffff ? 4 : id > 0xffff ? 3 : id > 0xff ? 2 : 1);
  return join([name, [1], bytes(inside.length, 7), inside]);
}

const whole = (id: number, x: number) => element(id, bytes(x, x > 0xffff ? 4 : 2));

function real(id: number, x: number): Uint8Array {
  const data = new DataView(new ArrayBuffer(8));
  data.setFloat64(0, x);
  return element(id, new Uint8Array(data.buffer));
}

/** Longer than this (milliseconds) no cluster is: times in it have 16 bits. */
const CLUSTER = 5000;

/** A WebM of pictures in VP8 or VP9. */
export function webm({ width, height, rate, chunks }: Track, codec: "V_VP8" | "V_VP9"): Uint8Array<ArrayBuffer> {
  const time = (k: number) => Math.round((1000 * k) / rate);
  const clusters: Part[] = [];
  let from = 0;
  for (let k = 1; k <= chunks.length; k++) {
    if (k < chunks.length && !(chunks[k].key && time(k) > time(from)) && time(k) - time(from) < CLUSTER) continue;
    const blocks = chunks.slice(from, k).map((c, i) => element(0xa3, [0x81, ...bytes(time(from + i) - time(from), 2), c.key ? 0x80 : 0], c.data));
    clusters.push(element(0x1f43b675, element(0xe7, bytes(time(from), 4)), ...blocks));
    from = k;
  }
  const header = element(0x1a45dfa3, whole(0x4286, 1), whole(0x42f7, 1), whole(0x42f2, 4), whole(0x42f3, 8), element(0x4282, letters("webm")), whole(0x4287, 2), whole(0x4285, 2));
  const info = element(0x1549a966, element(0x2ad7b1, bytes(1_000_000, 4)), real(0x4489, time(chunks.length)), element(0x4d80, letters("Bellcrank")), element(0x5741, letters("Bellcrank")));
  const picture = element(0xe0, whole(0xb0, width), whole(0xba, height));
  const entry = element(0xae, whole(0xd7, 1), whole(0x73c5, 1), whole(0x83, 1), whole(0x9c, 0), element(0x23e383, bytes(Math.round(1e9 / rate), 4)), element(0x86, letters(codec)), picture);
  return join([header, element(0x18538067, info, element(0x1654ae6b, entry), ...clusters)]);
}

// Films of the scene: MP4 or WebM by the browser's own encoder, GIF by ours.

import { type Chunk, mp4, webm } from "./container";
import { Gif, palette } from "./gif";

export type Format = "MP4" | "WebM" | "GIF";

/** The encoders to be asked for, the best first. */
const CODECS: [Format, string][] = [
  ["MP4", "avc1.640034"], ["MP4", "avc1.4d0034"], ["MP4", "avc1.42e034"], ["MP4", "avc1.42e028"], ["WebM", "vp09.00.41.08"], ["WebM", "vp8"],
];
/** Frames per second, and how long a film may be (seconds). */
const RATE = { video: 30, gif: 20 };
const LONGEST = { video: 60, gif: 12 };
/** Pictures between those that need no other. */
const KEYS = 60;
/** An encoder that has more pictures to do is waited for. */
const QUEUE = 4;
/** The width of a GIF, in pixels. */
const GIF_WIDTH = 640;
/** So many frames give the colours of a GIF. */
const SAMPLES = 6;

/** How the browser writes a format at a size; nothing if it cannot. */
async function encoding(format: Format, width: number, height: number): Promise<VideoEncoderConfig | null> {
  if (typeof VideoEncoder === "undefined") return null; // an older browser, or a page that came over plain http from afar
  for (const [of, codec] of CODECS) {
    if (of !== format) continue;
    const config: VideoEncoderConfig = { codec, width, height, bitrate: 8_000_000, framerate: RATE.video, ...(format === "MP4" ? { avc: { format: "avc" } } : {}) };
    const { supported } = await VideoEncoder.isConfigSupported(config).catch(() => ({ supported: false }));
    if (supported) return config;
  }
  return null;
}

/** What this browser can write. */
export async function formats(): Promise<Format[]> {
  const can = await Promise.all((["MP4", "WebM"] as const).map((f) => encoding(f, 1280, 720)));
  return [...(["MP4", "WebM"] as const).filter((_, k) => can[k]), "GIF"];
}

export interface Film {
  format: Format;
  /** How long it should be, in seconds; a film has an upper bound. */
  seconds: number;
  /** The size of the scene on the page. */
  width: number;
  height: number;
  /** Draws the scene at a share of the run into a picture. */
  draw: (share: number, onto: CanvasRenderingContext2D, width: number, height: number) => Promise<void>;
  /** What is done; false ends it. */
  progress: (share: number) => boolean;
}

/** Makes a film; nothing if it was ended. */
export function film(f: Film): Promise<Blob | null> {
  return f.format === "GIF" ? gif(f) : video(f);
}

function paper(width: number, height: number): [HTMLCanvasElement, CanvasRenderingContext2D] {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width, height];
  const context = canvas.getContext("2d", { willReadFrequently: true });
  if (!context) throw new Error("This browser cannot draw pictures.");
  return [canvas, context];
}

async function gif(f: Film): Promise<Blob | null> {
  const width = Math.min(GIF_WIDTH, f.width);
  const height = Math.max(1, Math.round((f.height * width) / f.width));
  const [, context] = paper(width, height);
  const frames = Math.max(2, Math.round(RATE.gif * Math.min(f.seconds, LONGEST.gif)));
  const picture = async (share: number) => {
    await f.draw(share, context, width, height);
    return context.getImageData(0, 0, width, height).data;
  };
  const samples: Uint8ClampedArray[] = [];
  for (let k = 0; k < SAMPLES; k++) samples.push(await picture(k / (SAMPLES - 1)));
  const out = new Gif(width, height, palette(samples));
  for (let k = 0; k < frames; k++) {
    out.add(await picture(k / (frames - 1)), 100 / RATE.gif);
    if (!f.progress((k + 1) / frames)) return null;
    await new Promise((done) => setTimeout(done)); // the page stays alive
  }
  return out.blob();
}

/** Every picture has its own time, however long it takes to draw. */
async function video(f: Film): Promise<Blob | null> {
  // encoders want even numbers
  const [width, height] = [f.width, f.height].map((n) => Math.max(2, 2 * Math.round(n / 2)));
  const config = await encoding(f.format, width, height);
  if (!config) throw new Error(`This browser cannot write ${f.format}.`);
  const [canvas, context] = paper(width, height);
  const frames = Math.max(2, Math.round(RATE.video * Math.min(f.seconds, LONGEST.video)));
  const chunks: Chunk[] = [];
  let avcc: Uint8Array | null = null;
  let failure: Error | null = null;
  const encoder = new VideoEncoder({
    output: (chunk, about) => {
      const data = new Uint8Array(chunk.byteLength);
      chunk.copyTo(data);
      chunks.push({ data, key: chunk.type === "key" });
      const description = about?.decoderConfig?.description;
      if (description) avcc = (ArrayBuffer.isView(description) ? new Uint8Array(description.buffer, description.byteOffset, description.byteLength) : new Uint8Array(description)).slice();
    },
    error: (e) => (failure = e),
  });
  encoder.configure(config);
  let ended = false;
  for (let k = 0; k < frames && !ended && !failure; k++) {
    await f.draw(k / (frames - 1), context, width, height);
    const picture = new VideoFrame(canvas, { timestamp: Math.round((1e6 * k) / RATE.video), duration: Math.round(1e6 / RATE.video) });
    encoder.encode(picture, { keyFrame: k % KEYS === 0 });
    picture.close();
    do await new Promise((done) => setTimeout(done)); // the page stays alive
    while (encoder.encodeQueueSize > QUEUE && !failure);
    ended = !f.progress((k + 1) / frames);
  }
  if (!ended && !failure) await encoder.flush();
  if (encoder.state !== "closed") encoder.close();
  if (failure) throw new Error(`The browser failed to write ${f.format}: ${(failure as Error).message}`);
  if (ended) return null;
  const track = { width, height, rate: RATE.video, chunks };
  if (f.format === "WebM") return new Blob([webm(track, config.codec === "vp8" ? "V_VP8" : "V_VP9")], { type: "video/webm" });
  return new Blob([mp4(track, avcc ?? new Uint8Array())], { type: "video/mp4" });
}

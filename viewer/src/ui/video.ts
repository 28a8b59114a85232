// Films of the scene: MP4 or WebM by the browser's own encoder, GIF by ours.

import { Gif, palette } from "./gif";

export type Format = "MP4" | "WebM" | "GIF";

const KINDS: [Format, string][] = [
  ["MP4", "video/mp4;codecs=avc1.42E01F"], ["MP4", "video/mp4;codecs=vp09.00.31.08"], ["WebM", "video/webm;codecs=vp9"], ["WebM", "video/webm"],
];
/** Frames per second, and how long a film may be (seconds). */
const RATE = { video: 30, gif: 20 };
const LONGEST = { video: 60, gif: 12 };
/** How long the encoder may take for the last frame (milliseconds). */
const DRAIN = 500;
/** The width of a GIF, in pixels. */
const GIF_WIDTH = 640;
/** So many frames give the colours of a GIF. */
const SAMPLES = 6;

const supported = (type: string) => typeof MediaRecorder !== "undefined" && MediaRecorder.isTypeSupported(type);

/** What this browser can write. */
export function formats(): Format[] {
  const videos = KINDS.filter(([, type]) => supported(type)).map(([format]) => format);
  return [...new Set<Format>([...videos, "GIF"])];
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

async function video(f: Film): Promise<Blob | null> {
  const mimeType = KINDS.find(([format, type]) => format === f.format && supported(type))?.[1];
  if (!mimeType) throw new Error(`This browser cannot write ${f.format}.`);
  // encoders want even numbers
  const [width, height] = [f.width, f.height].map((n) => Math.max(2, 2 * Math.round(n / 2)));
  const [canvas, context] = paper(width, height);
  const frames = Math.max(2, Math.round(RATE.video * Math.min(f.seconds, LONGEST.video)));
  await f.draw(0, context, width, height);
  const stream = canvas.captureStream(0);
  const track = stream.getVideoTracks()[0] as CanvasCaptureMediaStreamTrack;
  const recorder = new MediaRecorder(stream, { mimeType, videoBitsPerSecond: 8_000_000 });
  const chunks: Blob[] = [];
  recorder.ondataavailable = (e) => chunks.push(e.data);
  const stopped = new Promise<void>((done, failed) => {
    recorder.onstop = () => done();
    recorder.onerror = () => failed(new Error(`The browser failed to write ${f.format}.`));
  });
  const started = new Promise((done) => (recorder.onstart = done));
  recorder.start();
  await started;
  const begin = performance.now();
  let ended = false;
  for (let k = 0; k < frames && !ended; k++) {
    await f.draw(k / (frames - 1), context, width, height);
    track.requestFrame();
    // the encoder stamps frames as they come
    const due = begin + (1000 * (k + 1)) / RATE.video;
    await new Promise((done) => setTimeout(done, Math.max(0, due - performance.now())));
    ended = !f.progress((k + 1) / frames);
  }
  await new Promise((done) => setTimeout(done, DRAIN)); // what is still on its way to the encoder
  recorder.stop();
  await stopped;
  return ended ? null : new Blob(chunks, { type: mimeType.split(";")[0] });
}

// `window.bellcrank`: what tests and scripts see of the page.

import type { App } from "./ui/app";
import type { Vec } from "./scene/model";
import { type Format, formats } from "./ui/video";

export function automation(app: App): void {
  const find = (name: string) => app.stage?.entities.findIndex((e) => e.name === name) ?? -1;
  const api = {
    /** Time, row, selection and so on. */
    state: () => ({
      t: app.player?.t, row: app.stage?.row, share: app.stage?.share, playing: app.player?.playing, speed: app.player?.speed,
      start: app.player?.start, end: app.player?.end, rows: app.results?.rows,
      selected: app.stage?.entities[app.selected] ?? null, theme: app.themeName, rate: app.rate,
      view: app.stage?.view, flat: app.stage?.flat, shown: { ...app.shown },
      bodies: app.scene?.bodies.length, software: app.stage?.software, deformation: app.stage?.deformation,
      chapter: app.chapters ? { ...app.chapters.list[app.chapters.at], number: app.chapters.at, told: app.chapters.element.textContent } : null,
      live: app.strip ? { stretches: app.strip.stretches, events: app.strip.events, over: app.over } : null,
    }),
    seek: (t: number) => {
      app.player.pause();
      app.player.seek(t);
    },
    /** Goes to a row, and waits until it is shown. */
    seekRow: async (row: number) => {
      app.player.pause();
      await app.stage?.poses.load(row);
      await app.stage?.load(app.results.times[row]);
      app.player.seek(app.results.times[row]);
      app.stage?.frame(performance.now());
    },
    chapter: (k: number) => app.chapters?.open(k),
    play: () => app.player.play(),
    pause: () => app.player.pause(),
    /** The position and the rotation (x, y, z, w) that are drawn. */
    pose: (name: string) => {
      const e = app.stage?.entities.find((x) => x.name === name && x.kind === "body");
      if (!e || !app.stage) return null;
      return Array.from(app.stage.slots.data.subarray(8 * (e.index + 1), 8 * (e.index + 2)));
    },
    /** The runs beside the first. */
    runs: () => app.runs.map((r, k) => ({ label: r.label, rows: r.results.rows, shown: r.shown, drawn: app.stage?.ghosts[k]?.solids.node.visible ?? false })),
    /** The pose of a body of another run, as drawn. */
    ghost: (run: number, name: string) => {
      const machine = app.stage?.ghosts[run]?.machine;
      const body = machine?.scene.bodies.findIndex((b) => b.name === name) ?? -1;
      return machine && body >= 0 ? Array.from(machine.slots.data.subarray(8 * (body + 1), 8 * (body + 2))) : null;
    },
    /** Where an entity is in the world. */
    at: (name: string) => app.stage?.where(find(name)) ?? null,
    /** Where an entity is on the page, in pixels. */
    place: (name: string, offset: Vec = [0, 0, 0]) => {
      const { stage } = app;
      const at = stage?.where(find(name));
      const p = stage && at && stage.project([at[0] + offset[0], at[1] + offset[1], at[2] + offset[2]]);
      if (!p || !stage) return null;
      const box = stage.canvas.getBoundingClientRect();
      return [box.left + p[0], box.top + p[1]];
    },
    pick: (x: number, y: number) => {
      const box = app.stage?.canvas.getBoundingClientRect();
      const e = box && app.stage?.entities[app.stage.pick(x - box.left, y - box.top)];
      return e ?? null;
    },
    select: (name: string) => app.select(find(name)),
    follow: (name: string) => app.accompany(find(name)),
    hide: (name: string, hidden: boolean) => app.hide(find(name), hidden),
    /** The names of what is not drawn. */
    hidden: () => [...(app.stage?.hidden ?? [])].map((pick) => app.stage?.entities[pick].name),
    view: (name: "front" | "top" | "side" | "iso") => {
      app.view(name, false);
      app.stage?.frame(performance.now());
    },
    /** The part of the picture that the motion needs: 1 fills it. */
    filled: () => app.stage?.filled(),
    deform: (factor: number) => app.deform(factor),
    /** The points of a flexible body as drawn, in the world. */
    bent: (name: string) => {
      const e = app.stage?.entities.find((x) => x.name === name && x.kind === "body");
      return e && app.stage ? app.stage.bent(e.index).flat() : null;
    },
    truth: (on: boolean) => app.showTruth(on),
    zoom: (factor: number) => app.stage?.zoom(factor),
    show: (key: keyof App["shown"], on: boolean) => app.toggle(key, on),
    theme: (name: "light" | "dark") => app.setTheme(name),
    plot: (...names: string[]) => app.plots.add(names.map((n) => app.results.find(n)).filter((c) => c > 0)),
    plots: () => app.plots.describe(),
    /** Draws a plot over a channel by name, "time" or "frequency". */
    over: (k: number, name: string) => app.plots.setAxis(k, name === "frequency" ? name : name === "time" ? 0 : app.results.find(name)),
    file: async (k: number, format: "PNG" | "SVG" | "CSV") => {
      const blob = await app.plots.file(k, format);
      return blob && (format === "PNG" ? blob.size : await blob.text());
    },
    /** A film as its bytes in base 64. */
    film: async (format: Format) => {
      const data = await app.film(format);
      return data && btoa(Array.from(new Uint8Array(await data.arrayBuffer()), (b) => String.fromCharCode(b)).join(""));
    },
    formats,
    column: async (name: string) => Array.from(await app.results.column(app.results.find(name))),
    /**
     * What a frame costs the page, as it is drawn while something moves: milliseconds of poses, of giving orders and (the
     * least of all) of drawing to the end, draw calls and triangles, and how simply it is drawn.
     */
    cost: (frames: number, moving = true) => {
      const { stage, results } = app;
      if (!stage) return null;
      let [poses, drawing, whole] = [0, 0, stage.rehearse(moving)];
      for (let k = 0; k < frames; k++) {
        const start = performance.now();
        stage.seek(k % Math.max(1, results.rows - 1), results.rows > 1 ? 0.5 : 0);
        const filled = performance.now();
        stage.draw();
        drawing += performance.now() - filled;
        poses += filled - start;
        whole = Math.min(whole, stage.rehearse(moving));
      }
      const { calls, triangles } = stage.renderer.info.render;
      return { poses: poses / frames, drawing: drawing / frames, whole, calls, triangles, care: stage.drawnAs, level: stage.detail };
    },
    /** The pixels of the scene: how many differ from the corner, and a digest. */
    pixels: () => {
      const { stage } = app;
      if (!stage) return null;
      stage.draw();
      const gl = stage.renderer.getContext();
      const [w, h] = [gl.drawingBufferWidth, gl.drawingBufferHeight];
      const data = new Uint8Array(w * h * 4);
      gl.readPixels(0, 0, w, h, gl.RGBA, gl.UNSIGNED_BYTE, data);
      let solid = 0;
      let digest = 0;
      const colours = new Set<number>();
      for (let i = 0; i < data.length; i += 4) {
        const c = (data[i] << 16) | (data[i + 1] << 8) | data[i + 2];
        if (data[i + 3] > 250) solid += 1;
        if (colours.size < 4096) colours.add(c);
        digest = (Math.imul(digest, 31) + c + data[i + 3]) | 0;
      }
      return { width: w, height: h, solid: solid / (w * h), colours: colours.size, digest };
    },
  };
  Object.defineProperty(window, "bellcrank", { value: api });
}

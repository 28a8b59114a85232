// Play, pause, scrub: the bar under the scene.

import { short } from "../data/names";
import type { Results } from "../data/results";
import { button, h, icon, write } from "./dom";
import { type Player, SPEEDS } from "./player";

const STEPS = 10_000;

export class Transport {
  readonly element: HTMLElement;
  private readonly play: HTMLButtonElement;
  private readonly loop: HTMLButtonElement;
  private readonly slider: HTMLInputElement;
  private readonly time: HTMLInputElement;
  private readonly end = h("span", { class: "end" });
  private readonly speed: HTMLSelectElement;
  private shownPlaying: boolean | null = null;
  private digits = 3;

  constructor(private readonly player: Player, private readonly results: Results) {
    this.play = button("play", "Play", "space", () => player.toggle());
    this.play.classList.add("primary");
    this.loop = button("loop", "Repeat", "K", () => {
      player.loop = !player.loop;
      this.update();
    });
    this.slider = h("input", { type: "range", class: "scrub", min: "0", max: String(STEPS), step: "1", value: "0", "aria-label": "Time" });
    this.slider.addEventListener("input", () => {
      const u = Number(this.slider.value) / STEPS;
      player.seek(player.start + u * (player.end - player.start));
    });
    this.time = h("input", { type: "text", class: "time", inputMode: "decimal", "aria-label": "Time in seconds", spellcheck: false });
    this.time.addEventListener("change", () => {
      const t = Number(this.time.value.replace("−", "-").replace(",", "."));
      if (Number.isFinite(t)) {
        player.pause();
        player.seek(t);
      }
      this.time.blur();
      this.update();
    });
    this.time.addEventListener("keydown", (e) => e.key === "Escape" && this.time.blur());
    this.speed = h("select", { class: "speed", title: "Speed  (+ −)", "aria-label": "Speed", onchange: () => {
      player.speed = Number(this.speed.value);
      player.onChange();
    } }, ...SPEEDS.map((s) => h("option", { value: String(s), textContent: `× ${s}` })));
    this.element = h("div", { class: "transport", role: "group", "aria-label": "Playback" },
      button("start", "To the start", "Home", () => player.seek(player.start)),
      button("back", "One sample back", "←", () => player.step(-1)),
      this.play,
      button("forward", "One sample on", "→", () => player.step(1)),
      button("end", "To the end", "End", () => player.seek(player.end)),
      this.loop, this.slider,
      h("span", { class: "clock" }, this.time, h("span", { class: "unit" }, "s"), this.end),
      this.speed);
    this.extend();
  }

  /** There are more rows, or others. */
  extend(): void {
    const span = this.player.end - this.player.start;
    const step = span / Math.max(1, this.results.rows - 1);
    this.digits = Math.min(9, Math.max(0, Math.ceil(-Math.log10(step || 1)) + 1));
    this.time.style.width = `${Math.max(5, this.player.end.toFixed(this.digits).length) + 2}ch`;
    this.update();
  }

  update(): void {
    const { player } = this;
    if (this.shownPlaying !== player.playing) {
      this.shownPlaying = player.playing;
      this.play.replaceChildren(icon(player.playing ? "pause" : "play"));
      this.play.setAttribute("aria-label", player.playing ? "Pause" : "Play");
      this.play.title = `${player.playing ? "Pause" : "Play"}  (space)`;
    }
    this.loop.setAttribute("aria-pressed", String(player.loop));
    write(this.end, `/ ${short(player.end)} s`);
    const span = player.end - player.start;
    const u = span > 0 ? (player.t - player.start) / span : 0;
    this.slider.value = String(Math.round(u * STEPS));
    this.slider.style.setProperty("--done", `${(100 * u).toFixed(2)}%`);
    this.slider.setAttribute("aria-valuetext", `${player.t.toFixed(this.digits)} seconds`);
    if (document.activeElement !== this.time) {
      const text = player.t.toFixed(this.digits);
      if (this.time.value !== text) this.time.value = text;
    }
    if (this.speed.value !== String(player.speed)) this.speed.value = String(player.speed);
  }
}

// The keys, in a dialog.

import { button, h } from "./dom";

const KEYS: [string, [string, string][]][] = [
  ["Time", [
    ["space", "play or pause"], ["← →", "one sample back or on"], ["⇧ ← →", "ten samples"], ["Home End", "to the start or the end"], ["PgUp PgDn", "the chapter before or after, such as a mode"],
    ["+ −", "faster or slower"], ["K", "repeat"],
  ]],
  ["View", [
    ["F", "show everything"], ["1 2 3 4", "front, top, side, isometric"], ["O", "parallel or central projection"],
    ["C", "centre on what is chosen"], ["M", "move with what is chosen"], ["drag, wheel", "turn or shift, zoom"], ["right drag", "the other of the two"],
  ]],
  ["Show", [
    ["J", "joints"], ["E", "forces"], ["R", "reactions"], ["T", "paths of probes"], ["L", "names"], ["G", "grid"], ["H", "hide or show what is chosen"], ["⇧ H", "show everything hidden"], ["D", "dark or light"], ["V", "accuracy report"], ["B", "side panel"],
  ]],
  ["Choose and plot", [
    ["click", "choose a body or a joint"], ["P", "plot what is chosen"], ["⇧ P", "remove all plots"], ["/", "search"], ["Esc", "choose nothing"], ["S", "save a picture"],
  ]],
  ["In a plot", [["click", "go to that time"], ["drag", "zoom to a span"], ["wheel, ⇧ drag", "zoom, shift"], ["double click", "the whole time"], ["+ − 0", "zoom in, out, whole (chart focused)"], ["over…", "time, a plotted channel, or a spectrum"]]],
];

export function help(): HTMLDialogElement {
  const dialog: HTMLDialogElement = h("dialog", { class: "help", "aria-label": "Keys" },
    h("header", {}, h("h2", { textContent: "Keys" }), button("close", "Close", "Esc", () => dialog.close())),
    h("div", { class: "keys" }, ...KEYS.map(([title, keys]) => h("section", {}, h("h3", { textContent: title }),
      h("dl", {}, ...keys.flatMap(([key, what]) => [
        h("dt", {}, ...key.split(" ").map((k) => h("kbd", { textContent: k.replace(/,$/, "") }))), h("dd", { textContent: what }),
      ]))))),
  );
  dialog.addEventListener("click", (e) => e.target === dialog && dialog.close());
  return dialog;
}

// Which machine in the scene and which curves in the plots are of which run, and which of them are shown.

import { visible } from "../data/names";
import type { Run } from "../data/runs";
import { DASHES } from "../plot/chart";
import { CanvasPen } from "../plot/pen";
import { h } from "./dom";

/** A piece of a curve of a run. */
function dash(number: number): HTMLCanvasElement {
  const sample = h("canvas", { class: "dash", width: 52, height: 8 });
  const context = sample.getContext("2d");
  context?.scale(2, 2);
  if (context) new CanvasPen(context).line([1, 2, 25, 2], "#8b97a6", 1.6, DASHES[number % DASHES.length]);
  return sample;
}

/** The runs of a page with several; `change` is told of a run that is shown or hidden. */
export function legend(first: string, runs: Run[], change: (run: Run) => void): HTMLElement {
  const entry = (label: string, ...children: (HTMLElement | null)[]) => h("label", { title: visible(label) }, ...children, h("bdi", { textContent: visible(label) }));
  return h("div", { class: "runs", role: "group", "aria-label": "Runs" },
    entry(first, h("span", { class: "run-mark" }), dash(0)),
    ...runs.map((run, k) => {
      const box = h("input", { type: "checkbox", checked: run.shown, onchange: () => {
        run.shown = box.checked;
        change(run);
      } });
      return entry(run.label, box, h("span", { class: "run-mark ghost" }), dash(k + 1));
    }));
}

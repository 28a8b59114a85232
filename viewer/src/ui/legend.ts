// Which machine in the scene is of which run, and which of them are shown.

import { visible } from "../data/names";
import type { Run } from "../data/runs";
import { h } from "./dom";

/** The runs of a page with several; `change` is told of a run that is shown or hidden. */
export function legend(first: string, runs: Run[], change: (run: Run) => void): HTMLElement {
  const entry = (label: string, ...children: (HTMLElement | null)[]) => h("label", { title: visible(label) }, ...children, h("bdi", { textContent: visible(label) }));
  return h("div", { class: "runs", role: "group", "aria-label": "Runs" },
    entry(first, h("span", { class: "run-mark" })),
    ...runs.map((run) => {
      const box = h("input", { type: "checkbox", checked: run.shown, onchange: () => {
        run.shown = box.checked;
        change(run);
      } });
      return entry(run.label, box, h("span", { class: "run-mark ghost" }));
    }));
}

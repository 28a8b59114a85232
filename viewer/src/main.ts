import "./style.css";
import { EmbeddedSource } from "./data/embedded";
import { HttpSource } from "./data/http";
import { App } from "./ui/app";
import { automation } from "./automation";

const root = document.getElementById("app") as HTMLElement;

async function start(): Promise<void> {
  let app: App | null = null;
  try {
    app = new App(root, EmbeddedSource.find() ?? new HttpSource());
    automation(app);
    await app.start();
    document.documentElement.dataset.ready = "true";
  } catch (e) {
    console.info(e); // told on the page
    const text = e instanceof Error ? e.message : String(e);
    if (app) app.message("This result cannot be shown", text);
    else root.textContent = text;
    document.documentElement.dataset.ready = "failed";
  }
}

void start();

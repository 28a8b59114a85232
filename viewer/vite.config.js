// Builds one self-contained page: script and style inside, and a policy that allows nothing else to run.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { defineConfig } from "vite";

const digest = (text) => `'sha256-${createHash("sha256").update(text, "utf8").digest("base64")}'`;

/** `theme(light.ink)` in the style is that colour of the scene and the plots. */
function colours() {
  const all = JSON.parse(readFileSync(new URL("src/scene/colours.json", import.meta.url), "utf8"));
  return {
    name: "colours",
    enforce: "pre",
    transform: (code, id) => (id.endsWith("style.css") ? code.replace(/theme\((\w+)\.(\w+)\)/g, (_, theme, key) => all[theme][key]) : null),
  };
}

function single() {
  return {
    name: "single-page",
    enforce: "post",
    generateBundle(_, bundle) {
      const files = Object.values(bundle);
      const page = files.find((f) => f.fileName === "index.html");
      const script = files.filter((f) => f.type === "chunk").map((f) => f.code).join("\n")
        .replace(/<\/(script)/gi, "<\\/$1").replaceAll("<!--", "<\\!--").trim();
      const style = files.filter((f) => f.fileName.endsWith(".css")).map((f) => f.source).join("\n").trim();
      const policy = [
        "default-src 'none'", `script-src ${digest(script)}`, `style-src ${digest(style)}`,
        "img-src data: blob:", "connect-src 'self'", "base-uri 'none'", "form-action 'none'",
      ].join("; ");
      const licence = readFileSync(new URL("node_modules/three/LICENSE", import.meta.url), "utf8").trim();
      const html = page.source
        .replace(/<script type="module"[^>]*><\/script>\s*/g, "")
        .replace(/<link rel="stylesheet"[^>]*>\s*/g, "")
        .replace("<!--policy-->", () => `<meta http-equiv="Content-Security-Policy" content="${policy}">`)
        .replace("<!--style-->", () => `<style>${style}</style>`)
        .replace("<!--script-->", () => `<script type="module">${script}</script>`)
        .replace("<!--licences-->", () => `<!--\nThis page contains three.js, under this licence:\n\n${licence}\n-->`);
      for (const name of Object.keys(bundle)) delete bundle[name];
      this.emitFile({ type: "asset", fileName: "index.html", source: html });
    },
  };
}

export default defineConfig({
  base: "./",
  build: { target: "es2022", modulePreload: false, cssCodeSplit: false, assetsInlineLimit: 1 << 30, reportCompressedSize: false },
  plugins: [colours(), single()],
});

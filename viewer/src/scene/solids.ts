// All solids of a scene in a handful of draw calls: poses come from a texture, shapes from instance attributes.

import {
  BackSide, BufferAttribute, BufferGeometry, Color, DataTexture, DoubleSide, FloatType, Group as Node, InstancedBufferAttribute,
  InstancedBufferGeometry, type Material, Mesh, MeshDepthMaterial, MeshStandardMaterial, NearestFilter, RGBADepthPacking,
  RGBAFormat, ShaderMaterial, Vector2,
} from "three";
import type { Group, Part } from "./parts";
import { ROW, type Slots } from "./poses";

const DECLARE = /* glsl */ `
attribute vec3 ring;
attribute vec3 aPlace;
attribute vec4 aTurn;
attribute vec3 aCore;
attribute vec4 aSize; // ring, round, slot, pick
attribute vec4 aTint; // colour, marked
uniform highp sampler2D poses;
vec3 turned(vec4 q, vec3 v) { return v + 2.0 * cross(q.xyz, cross(q.xyz, v) + q.w * v); }
vec4 slotPlace;
vec4 slotTurn;
void findPose() {
  int s = int(aSize.z + 0.5);
  ivec2 at = ivec2((s % ${ROW}) * 2, s / ${ROW});
  slotPlace = texelFetch(poses, at, 0);
  slotTurn = texelFetch(poses, at + ivec2(1, 0), 0);
}
vec3 placed() {
  vec3 skeleton = aPlace + turned(aTurn, position * aCore);
  skeleton.x *= slotPlace.w;
  return slotPlace.xyz + turned(slotTurn, skeleton + turned(aTurn, ring * aSize.x + normal * aSize.y));
}
vec3 facing() { return turned(slotTurn, turned(aTurn, normal)); }
`;

const HIDE = /* glsl */ `if (!(slotPlace.w >= 0.0)) gl_Position = vec4(0.0, 0.0, 2.0, 1.0);`;

interface Shared { poses: { value: DataTexture } }

/** Makes a material of three.js take its vertices from the instances. */
function dress(material: Material, shared: Shared, tinted: boolean): void {
  material.onBeforeCompile = (shader) => {
    Object.assign(shader.uniforms, shared);
    shader.vertexShader = shader.vertexShader
      .replace("#include <common>", `#include <common>\n${DECLARE}${tinted ? "varying vec4 vTint;\nvarying vec3 vOwn;" : ""}`)
      .replace("void main() {", "void main() {\nfindPose();")
      .replace("#include <beginnormal_vertex>", "vec3 objectNormal = facing();")
      .replace("#include <begin_vertex>", "vec3 transformed = placed();")
      .replace(
        "#include <project_vertex>",
        `#include <project_vertex>\n${HIDE}${tinted ? "vTint = aTint; vOwn = position * aCore + ring * aSize.x + normal * aSize.y;" : ""}`,
      );
    if (tinted) {
      shader.fragmentShader = shader.fragmentShader
        .replace("#include <common>", "#include <common>\nvarying vec4 vTint;\nvarying vec3 vOwn;")
        .replace(
          "#include <color_fragment>",
          `diffuseColor.rgb *= vTint.rgb;
          if (vTint.a > 0.5) {
            vec3 own = vOwn;
            vec2 w = max(fwidth(own.xy), vec2(1e-6));
            vec2 side = clamp(own.xy / w, -1.0, 1.0);
            diffuseColor.rgb *= 1.0 - 0.26 * (0.5 - 0.5 * side.x * side.y);
          }`,
        );
    }
  };
  material.customProgramCacheKey = () => `bellcrank-${tinted}`;
}

/** A processor that draws without a graphics processor takes half a millisecond for an instance, whatever its size. */
const COPIED = 2_000_000;

/** All instances as one mesh. */
function copies(source: BufferGeometry, own: [string, number, Float32Array][], n: number): BufferGeometry {
  const g = new BufferGeometry();
  const vertices = source.getAttribute("position").count;
  for (const name of ["position", "ring", "normal"]) {
    const values = source.getAttribute(name).array as Float32Array;
    const all = new Float32Array(values.length * n);
    for (let i = 0; i < n; i++) all.set(values, i * values.length);
    g.setAttribute(name, new BufferAttribute(all, 3));
  }
  for (const [name, width, values] of own) {
    const all = new Float32Array(width * vertices * n);
    for (let i = 0; i < n; i++) {
      const one = values.subarray(width * i, width * (i + 1));
      for (let v = 0; v < vertices; v++) all.set(one, width * (i * vertices + v));
    }
    g.setAttribute(name, new BufferAttribute(all, width));
  }
  const index = source.index?.array ?? [];
  const all = new Uint32Array(index.length * n);
  for (let i = 0; i < n; i++) for (let k = 0; k < index.length; k++) all[i * index.length + k] = index[k] + i * vertices;
  g.setIndex(new BufferAttribute(all, 1));
  return g;
}

/** The solids of a scene. */
export class Solids {
  readonly node = new Node();
  readonly texture: DataTexture;
  private readonly groups = new Map<Group, Node>();
  private readonly picking: ShaderMaterial;
  private readonly outline: { selected: ShaderMaterial; hovered: ShaderMaterial };
  private readonly outlined: { selected: Node; hovered: Node } = { selected: new Node(), hovered: new Node() };
  private readonly byPick = new Map<number, Part[]>();
  private readonly standard: MeshStandardMaterial;
  private readonly overlay: MeshStandardMaterial;
  private readonly depth: MeshDepthMaterial;
  private readonly meshes: Mesh[] = [];
  private readonly shown: Record<Group, boolean> = { body: true, joint: true, force: true, load: true, reaction: false };

  constructor(
    parts: Part[], slots: Slots, private readonly geometries: Record<string, BufferGeometry>, shadows: boolean,
    private readonly software: boolean,
  ) {
    this.texture = new DataTexture(slots.data, 2 * ROW, slots.height, RGBAFormat, FloatType);
    this.texture.minFilter = this.texture.magFilter = NearestFilter;
    this.texture.needsUpdate = true;
    const shared: Shared = { poses: { value: this.texture } };
    this.standard = new MeshStandardMaterial({ roughness: 0.52, metalness: 0.08 });
    this.overlay = new MeshStandardMaterial({ roughness: 0.6, metalness: 0, depthTest: false, transparent: true });
    this.depth = new MeshDepthMaterial({ depthPacking: RGBADepthPacking, side: DoubleSide });
    dress(this.standard, shared, true);
    dress(this.overlay, shared, true);
    dress(this.depth, shared, false);
    const plain = (vertex: string, fragment: string, uniforms: object) =>
      new ShaderMaterial({ vertexShader: `${DECLARE}${vertex}`, fragmentShader: fragment, uniforms: { ...shared, ...uniforms } });
    this.picking = plain(
      `varying vec3 vId;
      void main() {
        findPose();
        gl_Position = projectionMatrix * viewMatrix * vec4(placed(), 1.0);
        float id = aSize.w + 1.0;
        vId = vec3(mod(id, 256.0), mod(floor(id / 256.0), 256.0), floor(id / 65536.0)) / 255.0;
        ${HIDE}
      }`,
      "varying vec3 vId;\nvoid main() { gl_FragColor = vec4(vId, 1.0); }",
      {},
    );
    const outline = (pixels: number) => {
      const material = plain(
        `uniform vec2 viewport;
        uniform float pixels;
        void main() {
          findPose();
          gl_Position = projectionMatrix * viewMatrix * vec4(placed(), 1.0);
          vec2 out2 = (projectionMatrix * viewMatrix * vec4(facing(), 0.0)).xy * viewport;
          float l = length(out2);
          if (l > 1e-6) gl_Position.xy += out2 / l * 2.0 * pixels / viewport * gl_Position.w;
          ${HIDE}
        }`,
        "uniform vec3 colour;\nvoid main() { gl_FragColor = vec4(colour, 1.0);\n#include <colorspace_fragment>\n}",
        { viewport: { value: new Vector2(1, 1) }, pixels: { value: pixels }, colour: { value: new Color() } },
      );
      material.side = BackSide;
      return material;
    };
    this.outline = { selected: outline(3), hovered: outline(2) };

    const sorted = new Map<string, Part[]>();
    for (const part of parts) {
      const key = `${part.group} ${part.solid}`;
      const list = sorted.get(key);
      if (list) list.push(part);
      else sorted.set(key, [part]);
      if (part.pick >= 0) {
        const own = this.byPick.get(part.pick);
        if (own) own.push(part);
        else this.byPick.set(part.pick, [part]);
      }
    }
    for (const group of ["body", "joint", "force", "load", "reaction"] as Group[]) {
      const node = new Node();
      this.groups.set(group, node);
      this.node.add(node);
      node.visible = this.shown[group];
      for (const solid of Object.keys(this.geometries)) {
        const list = sorted.get(`${group} ${solid}`);
        if (!list) continue;
        const over = group === "reaction";
        const mesh = new Mesh(this.instances(solid, list), over ? this.overlay : this.standard);
        mesh.frustumCulled = false;
        mesh.customDepthMaterial = this.depth;
        mesh.castShadow = mesh.receiveShadow = shadows && !over && group !== "load";
        mesh.renderOrder = over ? 20 : 0;
        node.add(mesh);
        this.meshes.push(mesh);
      }
    }
    this.node.add(this.outlined.selected, this.outlined.hovered);
  }

  private instances(solid: string, parts: Part[]): BufferGeometry {
    const source = this.geometries[solid];
    const n = parts.length;
    const colour = new Color();
    const own: [string, number, Float32Array][] = [["aPlace", 3], ["aTurn", 4], ["aCore", 3], ["aSize", 4], ["aTint", 4]]
      .map(([name, width]) => [name as string, width as number, new Float32Array((width as number) * n)]);
    const [place, turn, core, size, tint] = own.map(([, , values]) => values);
    parts.forEach((p, i) => {
      place.set(p.place, 3 * i);
      turn.set(p.turn, 4 * i);
      core.set(p.core, 3 * i);
      size.set([p.ring, p.round, p.slot, p.pick], 4 * i);
      colour.set(p.colour);
      tint.set([colour.r, colour.g, colour.b, p.marked ? 1 : 0], 4 * i);
    });
    const vertices = source.getAttribute("position").count;
    if (this.software && n * vertices <= COPIED) return copies(source, own, n);
    const g = new InstancedBufferGeometry();
    g.setIndex(source.index);
    for (const name of ["position", "ring", "normal"]) g.setAttribute(name, source.getAttribute(name));
    for (const [name, width, values] of own) g.setAttribute(name, new InstancedBufferAttribute(values, width));
    g.instanceCount = n;
    return g;
  }

  show(group: Group, visible: boolean): void {
    this.shown[group] = visible;
    const node = this.groups.get(group);
    if (node) node.visible = visible;
  }

  /** Poses have changed. */
  moved(): void {
    this.texture.needsUpdate = true;
  }

  /** Draws an outline around an entity; −1 for none. */
  mark(how: "selected" | "hovered", pick: number, colour: string): void {
    const node = this.outlined[how];
    for (const child of [...node.children]) {
      node.remove(child);
      (child as Mesh).geometry.dispose();
    }
    (this.outline[how].uniforms.colour.value as Color).set(colour);
    const parts = (this.byPick.get(pick) ?? []).filter((p) => p.group !== "reaction" || this.shown.reaction);
    for (const solid of Object.keys(this.geometries)) {
      const list = parts.filter((p) => p.solid === solid);
      if (!list.length) continue;
      const mesh = new Mesh(this.instances(solid, list), this.outline[how]);
      mesh.frustumCulled = false;
      node.add(mesh);
    }
  }

  resize(width: number, height: number): void {
    for (const o of Object.values(this.outline)) (o.uniforms.viewport.value as Vector2).set(width, height);
  }

  /** Does `draw` with every solid in the colour of its number. */
  forPicking(draw: () => void): void {
    const before = this.meshes.map((m) => m.material);
    const outlines = [this.outlined.selected, this.outlined.hovered];
    this.meshes.forEach((m) => (m.material = this.picking));
    outlines.forEach((o) => (o.visible = false));
    draw();
    this.meshes.forEach((m, i) => (m.material = before[i]));
    outlines.forEach((o) => (o.visible = true));
  }

  dispose(): void {
    this.mark("selected", -1, "#000");
    this.mark("hovered", -1, "#000");
    this.meshes.forEach((m) => m.geometry.dispose());
    [this.standard, this.overlay, this.depth, this.picking, this.outline.selected, this.outline.hovered].forEach((m) => m.dispose());
    this.texture.dispose();
  }
}

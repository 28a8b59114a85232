// The ground: an endless grid whose lines follow the zoom, and a plane that catches shadows.

import { BufferAttribute, BufferGeometry, Color, LineSegments, Mesh, PlaneGeometry, ShaderMaterial, ShadowMaterial, Vector3 } from "three";
import type { Theme } from "./theme";
import type { Vec } from "./model";

/** The quick grid has so many lines to each side of the middle. */
const SIDE = 40;

export class Grid {
  /** The same in single lines, which cost a processor a tenth. */
  readonly quick: LineSegments<BufferGeometry, ShaderMaterial>;
  readonly mesh: Mesh<PlaneGeometry, ShaderMaterial>;
  readonly shadow: Mesh<PlaneGeometry, ShadowMaterial>;
  /** Distance of its lines. */
  spacing = 1;

  constructor(normal: Vec, origin: Vec) {
    const material = new ShaderMaterial({
      transparent: true, depthWrite: false,
      uniforms: {
        minor: { value: new Color() }, major: { value: new Color() }, first: { value: new Color() }, second: { value: new Color() },
        step: { value: 1 }, fade: { value: 1 }, reach: { value: 1 }, centre: { value: new Vector3() }, flat2: { value: 0 },
      },
      vertexShader: `
        uniform float reach; uniform vec3 centre; varying vec2 at; varying vec2 off;
        void main() {
          vec3 local = vec3(position.xy * reach, 0.0);
          vec4 world = modelMatrix * vec4(local, 1.0);
          world.xyz += centre;
          at = vec2(dot(world.xyz, normalize(modelMatrix[0].xyz)), dot(world.xyz, normalize(modelMatrix[1].xyz)));
          off = position.xy;
          gl_Position = projectionMatrix * viewMatrix * world;
        }`,
      fragmentShader: `
        uniform vec3 minor, major, first, second; uniform float step, fade, flat2; varying vec2 at; varying vec2 off;
        float lines(vec2 p, float width) {
          vec2 w = fwidth(p);
          vec2 d = abs(fract(p - 0.5) - 0.5) / max(w, vec2(1e-9));
          vec2 a = clamp(width - d + 0.5, 0.0, 1.0) * clamp(0.45 / max(w, vec2(1e-9)) * 0.25, 0.0, 1.0);
          return max(a.x, a.y);
        }
        float axis(float x) { return clamp(1.4 - abs(x) / fwidth(x), 0.0, 1.0); }
        void main() {
          float fine = lines(at / step, 0.5) * fade;
          float coarse = lines(at / (10.0 * step), 0.5);
          float away = flat2 > 0.5 ? 1.0 : smoothstep(1.0, 0.15, length(off) * 2.0);
          vec4 colour = vec4(minor, fine * 0.9);
          colour = mix(colour, vec4(major, 1.0), coarse);
          colour = mix(colour, vec4(first, 1.0), axis(at.y) * 0.7);
          colour = mix(colour, vec4(second, 1.0), axis(at.x) * 0.7);
          gl_FragColor = vec4(colour.rgb, colour.a * away);
          #include <colorspace_fragment>
        }`,
    });
    this.mesh = new Mesh(new PlaneGeometry(1, 1), material);
    this.mesh.frustumCulled = false;
    this.mesh.renderOrder = -2;
    this.shadow = new Mesh(new PlaneGeometry(1, 1), new ShadowMaterial({ depthWrite: false }));
    this.shadow.receiveShadow = true;
    this.shadow.renderOrder = -1;
    this.quick = new LineSegments(segments(), new ShaderMaterial({
      transparent: true, depthWrite: false,
      uniforms: { ...material.uniforms, whole: { value: new Vector3() } },
      vertexShader: `
        uniform vec3 minor, major, first, second, centre, whole; uniform float step, fade, flat2; varying vec4 colour;
        void main() {
          // whole lines of the grid, counted from the origin
          vec2 at = (position.xy + whole.xy) * step;
          vec4 world = vec4(normalize(modelMatrix[0].xyz) * at.x + normalize(modelMatrix[1].xyz) * at.y + normalize(modelMatrix[2].xyz) * whole.z, 1.0);
          float line = position.z > 0.5 ? position.x + whole.x : position.y + whole.y;
          bool coarse = abs(mod(line + 0.5, 10.0) - 0.5) < 0.1;
          vec3 c = abs(line) > 0.1 ? coarse ? major : minor : position.z > 0.5 ? second : first;
          float away = flat2 > 0.5 ? 1.0 : smoothstep(1.0, 0.15, length(position.xy) / ${SIDE}.0);
          colour = vec4(mix(12.92 * c, 1.055 * pow(c, vec3(1.0 / 2.4)) - 0.055, vec3(greaterThan(c, vec3(0.0031308)))), (coarse ? 1.0 : 0.8 * fade) * away);
          gl_Position = projectionMatrix * viewMatrix * world;
        }`,
      fragmentShader: "varying vec4 colour;\nvoid main() { gl_FragColor = colour; }",
    }));
    this.quick.frustumCulled = false;
    this.quick.renderOrder = -2;
    this.quick.visible = false;
    const z = new Vector3(...normal);
    for (const m of [this.mesh, this.quick, this.shadow]) {
      m.quaternion.setFromUnitVectors(new Vector3(0, 0, 1), z);
      m.position.set(...origin);
    }
  }

  paint(theme: Theme, up: "y" | "z" | "other"): void {
    const u = this.mesh.material.uniforms;
    (u.minor.value as Color).set(theme.grid.minor);
    (u.major.value as Color).set(theme.grid.major);
    (u.first.value as Color).set(up === "other" ? theme.grid.major : theme.grid.x);
    (u.second.value as Color).set(up === "other" ? theme.grid.major : theme.grid.y);
    this.shadow.material.opacity = theme.shadow;
  }

  /** Chooses the distance of the lines for what a pixel covers, and moves the plane under the view. */
  follow(perPixel: number, target: Vector3, reach: number, flat: boolean): void {
    const exact = Math.log10(perPixel * 18);
    const whole = Math.ceil(exact);
    this.spacing = 10 ** whole;
    const u = this.mesh.material.uniforms;
    u.step.value = this.spacing;
    u.fade.value = flat ? Math.min(1, (whole - exact) * 1.2 + 0.15) : 0.75;
    u.reach.value = reach;
    u.flat2.value = flat ? 1 : 0;
    // only within the plane
    const normal = new Vector3(0, 0, 1).applyQuaternion(this.mesh.quaternion);
    const centre = target.clone().sub(this.mesh.position);
    centre.addScaledVector(normal, -centre.dot(normal));
    (u.centre.value as Vector3).copy(centre);
    if (this.quick.visible) {
      this.quick.position.copy(this.mesh.position);
      const [x, y] = [new Vector3(1, 0, 0), new Vector3(0, 1, 0)].map((v) => v.applyQuaternion(this.mesh.quaternion));
      const whole = (v: Vector3) => Math.round(target.dot(v) / this.spacing);
      (this.quick.material.uniforms.whole.value as Vector3).set(whole(x), whole(y), this.mesh.position.dot(normal));
    }
    this.shadow.scale.setScalar(reach);
  }
}

/** Lines along both directions, broken where they fade; z tells which way they run. */
function segments(): BufferGeometry {
  const points: number[] = [];
  for (let i = -SIDE; i <= SIDE; i++) {
    for (let k = -SIDE; k < SIDE; k += SIDE / 2) points.push(i, k, 1, i, k + SIDE / 2, 1, k, i, 0, k + SIDE / 2, i, 0);
  }
  const g = new BufferGeometry();
  g.setAttribute("position", new BufferAttribute(new Float32Array(points), 3));
  return g;
}

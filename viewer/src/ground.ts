// The ground: a grid of 1 m and 0.25 m lines that fades with distance.

import { Color, DoubleSide, Mesh, PlaneGeometry, ShaderMaterial, Vector3 } from "three";

const VERTEX = /* glsl */ `
varying vec3 place;
void main() {
  vec4 world = modelMatrix * vec4(position, 1.0);
  place = world.xyz;
  gl_Position = projectionMatrix * viewMatrix * world;
}`;

const FRAGMENT = /* glsl */ `
uniform vec3 color;
uniform vec3 center;
uniform vec3 shift;
uniform float reach;
varying vec3 place;
float lines(vec2 at, float spacing, float width) {
  vec2 cell = at / spacing;
  vec2 blur = fwidth(cell);
  vec2 near = abs(fract(cell - 0.5) - 0.5);
  vec2 line = 1.0 - smoothstep(vec2(0.0), blur * width, near);
  // lines closer than a pixel blend to an even tone, to avoid aliasing
  vec2 calm = clamp(1.0 - blur * 2.0, 0.0, 1.0);
  return max(line.x * calm.x, line.y * calm.y);
}
void main() {
  vec2 at = place.xz + shift.xz;
  float fade = 1.0 - smoothstep(0.15, 1.0, distance(place.xz, center.xz) / reach);
  float tone = max(0.55 * lines(at, 1.0, 1.1), 0.2 * lines(at, 0.25, 1.0));
  gl_FragColor = vec4(color, tone * fade * fade);
  #include <colorspace_fragment>
}`;

export class Ground {
  readonly mesh: Mesh;
  private readonly uniforms = {
    color: { value: new Color() },
    center: { value: new Vector3() },
    shift: { value: new Vector3() },
    reach: { value: 6 },
  };

  constructor() {
    const material = new ShaderMaterial({
      vertexShader: VERTEX,
      fragmentShader: FRAGMENT,
      uniforms: this.uniforms,
      transparent: true,
      depthWrite: false,
      side: DoubleSide,
    });
    this.mesh = new Mesh(new PlaneGeometry(2, 2).rotateX(-Math.PI / 2), material);
    this.mesh.renderOrder = -2;
  }

  /** Places the ground at `height` and aligns its lines with whole meters of the clip.  */
  place(height: number, originX: number, originZ: number): void {
    this.mesh.position.y = height;
    this.uniforms.shift.value.set(originX % 1, 0, originZ % 1);
  }

  /** Keeps the ground below the camera's target, up to the visible distance. */
  follow(target: Vector3, distance: number): void {
    const reach = Math.max(4, 2.4 * distance);
    this.mesh.position.x = target.x;
    this.mesh.position.z = target.z;
    this.mesh.scale.set(reach, 1, reach);
    this.uniforms.center.value.copy(target);
    this.uniforms.reach.value = reach;
  }

  color(text: string): void {
    this.uniforms.color.value.set(text);
  }
}

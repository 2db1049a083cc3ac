// The 3D view: figures on a ground, drawn once or side by side with one camera.

import {
  CircleGeometry,
  Color,
  DirectionalLight,
  HemisphereLight,
  InstancedMesh,
  Matrix4,
  MeshBasicMaterial,
  PerspectiveCamera,
  Scene,
  Vector3,
  WebGLRenderer,
} from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { PALETTES, type Palette } from "./colors";
import type { Skeleton } from "./decoder";
import { Figure, ghostMaterial, meshMaterial, shadowMaterial, solidMaterial } from "./figure";
import { Ground } from "./ground";
import { surfaceOf, type Skin } from "./skin";
import { Trails } from "./trails";
import type { Layout } from "./session";

const LIGHT = new Vector3(0.55, 1, 0.4); // direction of the light

// scale of the ghost, so that it is visible only where the figures differ
const GHOST = 0.94;
const NEAR_PLANE_M = 0.05;
const MAX_CAMERA_DISTANCE_M = 100;
const MAX_BODY_M = 20;
const MAX_FEET = 32; // maximum number of contact marks

export type View = "quarter" | "front" | "side" | "top";
const VIEWS: Record<View, [number, number, number]> = {
  quarter: [0.62, 0.2, 0.78],
  front: [0, 0.06, 1],
  side: [1, 0.06, 0],
  top: [0, 1, 0.001],
};

const HEADROOM = 0.44; // of the height of the view, from its middle to the highest point
const RISE = 0.6; // fraction of vertical motion that the camera follows, so that jumps stay visible

/** Position and size of a figure for the camera, in meters. */
export interface Body {
  ground: number;
  height: number;
  width: number;
  root: Vector3;
}

export class Stage {
  palette: Palette = PALETTES.light;
  follow = true;
  meshed = true; // show meshes instead of bones, if there are any
  packed: Figure | null = null;
  original: Figure | null = null;
  readonly trails = new Trails();
  private ghost: Figure | null = null;
  private readonly marks = new InstancedMesh(
    new CircleGeometry(0.07, 24).rotateX(-Math.PI / 2),
    new MeshBasicMaterial({ transparent: true, opacity: 0.35, depthWrite: false }),
    MAX_FEET,
  );
  private readonly renderer: WebGLRenderer;
  private readonly scene = new Scene();
  private readonly camera = new PerspectiveCamera(32, 1, NEAR_PLANE_M, 5 * MAX_CAMERA_DISTANCE_M);
  private readonly controls: OrbitControls;
  private readonly ground = new Ground();
  private readonly shade = shadowMaterial();
  private readonly sky = new HemisphereLight(0xffffff, 0xffffff, 1.6);
  private dirty = true;
  private split = false;
  private size = { width: 0, height: 0 };
  private home = {
    goal: new Vector3(0, 0.9, 0),
    height: 1.8,
    width: 1,
    level: 0,
    rootLevel: 0,
    floor: 0,
  };
  private readonly anchor = new Vector3(); // the followed point; keeps the user's panning

  constructor(canvas: HTMLCanvasElement) {
    this.renderer = new WebGLRenderer({ canvas, antialias: true, alpha: true, stencil: true });
    this.renderer.setClearColor(0, 0);
    this.renderer.autoClear = false;
    this.controls = new OrbitControls(this.camera, canvas);
    Object.assign(this.controls, {
      enableDamping: true,
      dampingFactor: 0.12,
      minDistance: 0.2,
      maxDistance: MAX_CAMERA_DISTANCE_M,
    });
    this.controls.addEventListener("change", () => this.invalidate());
    const sun = new DirectionalLight(0xffffff, 2.1);
    sun.position.copy(LIGHT);
    this.marks.frustumCulled = false;
    this.marks.count = 0;
    this.scene.add(this.ground.mesh, this.sky, sun, this.trails.lines, this.marks);
  }

  invalidate(): void {
    this.dirty = true;
  }

  setPalette(palette: Palette, dark: boolean): void {
    this.palette = palette;
    this.ground.color(palette.grid);
    this.trails.color(palette.highlight);
    this.marks.material.color.set(palette.highlight);
    this.shade.opacity = palette.shadow;
    this.sky.groundColor.set(dark ? 0x2c3238 : 0xb9b2a6);
    this.sky.intensity = dark ? 1.25 : 1.7;
    this.invalidate();
  }

  /** Shows new figures; an original is shown as a solid or a ghost. */
  setFigures(skeleton: Skeleton, hasOriginal: boolean, skin: Skin | null): void {
    for (const figure of [this.packed, this.original, this.ghost]) this.remove(figure);
    this.packed = this.add(new Figure(skeleton, solidMaterial(), this.shade), 1);
    this.original = hasOriginal
      ? this.add(new Figure(skeleton, solidMaterial(), this.shade), 1)
      : null;
    this.ghost = hasOriginal
      ? this.add(new Figure(skeleton, ghostMaterial(), this.shade, GHOST), 0)
      : null;
    if (skin) this.dress(skin);
    this.showMeshes(this.meshed);
  }

  private dress(skin: Skin): void {
    const surface = surfaceOf(skin);
    for (const figure of [this.packed, this.original, this.ghost])
      figure?.wear(skin, surface, meshMaterial(figure === this.ghost));
    for (const figure of [this.packed, this.original, this.ghost])
      figure && this.order(figure, figure === this.ghost ? 0 : 1);
    surface.dispose();
  }

  showMeshes(shown: boolean): void {
    this.meshed = shown;
    for (const figure of [this.packed, this.original, this.ghost]) figure?.showMesh(shown);
    this.invalidate();
  }

  /** Points the camera at a figure of the given position and size. */
  frame(body: Body, origin: readonly number[]): void {
    const { ground, height, width, root } = body;
    this.ground.place(ground, origin[0], origin[2]);
    const level = ground + 0.48 * height;
    this.home = {
      goal: new Vector3(root.x, level, root.z),
      height,
      width,
      level,
      rootLevel: root.y,
      floor: ground,
    };
    this.reach(Math.max(height, width));
    this.castShadows(ground);
    this.resetView();
  }

  /** Extends the camera's range for large figures, such as files in the wrong unit. */
  private reach(size: number): void {
    const scale = Math.max(1, size / MAX_BODY_M);
    this.controls.maxDistance = MAX_CAMERA_DISTANCE_M * scale;
    this.camera.near = NEAR_PLANE_M * scale;
    this.camera.far = 5 * MAX_CAMERA_DISTANCE_M * scale;
  }

  resetView(): void {
    this.look("quarter");
  }

  /** Marks ground contacts: x and z of each. */
  markFeet(places: [number, number][]): void {
    const matrix = new Matrix4();
    this.marks.count = Math.min(places.length, MAX_FEET);
    for (let i = 0; i < this.marks.count; i++) {
      const [x, z] = places[i];
      this.marks.setMatrixAt(i, matrix.makeTranslation(x, this.home.floor + 2e-3, z));
    }
    this.marks.instanceMatrix.needsUpdate = true;
    this.invalidate();
  }

  /** Shows the figure from a standard view, at a distance where it fits. */
  look(view: View): void {
    const { goal } = this.home;
    this.anchor.copy(goal);
    this.controls.target.copy(goal);
    const away = new Vector3(...VIEWS[view]).setLength(this.fittingDistance());
    this.camera.position.addVectors(this.controls.target, away);
    this.controls.update();
    this.invalidate();
  }

  /** Switches between one and two views and adapts the camera distance. */
  private setSplit(split: boolean): void {
    if (split === this.split) return;
    const before = this.fittingDistance();
    this.split = split;
    const { target } = this.controls;
    this.camera.position
      .sub(target)
      .multiplyScalar(this.fittingDistance() / before)
      .add(target);
    this.controls.update();
  }

  private get aspect(): number {
    return this.size.width / Math.max(this.size.height, 1) / (this.split ? 2 : 1);
  }

  /** Returns the camera distance at which the figure fills the view. */
  private fittingDistance(): number {
    const { height, width } = this.home;
    const tall = Math.max(1.24 * height, (1.15 * width) / this.aspect);
    // parts closer to the camera look larger
    return tall / (2 * Math.tan((this.camera.fov * Math.PI) / 360)) + 0.35 * width;
  }

  /** Moves the camera with the root, at once or by a fraction; `top` is the height of the highest point. */
  moveTo(root: Vector3, share: number, top: number): void {
    const { goal, level, rootLevel, height } = this.home;
    const above = HEADROOM * this.visibleHeight;
    // a camera that shows the whole figure keeps its head in view
    const raised = 2 * above >= height ? top - above : -Infinity;
    goal.set(root.x, Math.max(level + RISE * (root.y - rootLevel), raised), root.z);
    if (!this.follow) return;
    const step = goal.clone().sub(this.anchor).multiplyScalar(share);
    if (step.lengthSq() < 1e-10) return;
    this.anchor.add(step);
    this.controls.target.add(step);
    this.camera.position.add(step);
    this.invalidate();
  }

  /** The height of what the camera shows at the distance of its target, in meters. */
  private get visibleHeight(): number {
    const distance = this.camera.position.distanceTo(this.controls.target);
    return 2 * distance * Math.tan((this.camera.fov * Math.PI) / 360);
  }

  /** Returns how high the highest joint is in the view: 1 at its upper edge. */
  headOnScreen(): number {
    const places = this.packed?.jointPositions() ?? [];
    const heights = places.flatMap((_, k) =>
      k % 3 ? [] : [new Vector3(...places.slice(k, k + 3)).project(this.camera).y],
    );
    return Math.max(...heights);
  }

  poseOriginal(points: Float32Array, turns: Float32Array | null): void {
    this.original?.pose(points, turns);
    this.ghost?.pose(points, turns);
    this.invalidate();
  }

  colorOriginal(color: Color): void {
    for (const figure of [this.original, this.ghost]) figure?.color((_, out) => out.copy(color));
    this.invalidate();
  }

  resize(width: number, height: number): void {
    this.size = { width, height };
    this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
    this.renderer.setSize(width, height, false);
    this.invalidate();
  }

  /** Draws if anything has changed. */
  draw(layout: Layout, force = false): void {
    this.controls.update();
    if (!this.dirty && !force) return;
    this.dirty = false;
    this.ground.follow(this.controls.target, this.camera.position.distanceTo(this.controls.target));
    this.setSplit(layout === "side" && this.original !== null);
    this.renderer.setScissorTest(false);
    this.renderer.clear();
    const { width, height } = this.size;
    if (!this.split) return this.drawPart(layout, 0, width, height);
    const half = Math.floor(width / 2);
    this.drawPart("original", 0, half, height);
    this.drawPart("packed", half, width - half, height);
  }

  private drawPart(layout: Layout, left: number, width: number, height: number): void {
    const overlay = layout === "overlay" || !this.original;
    this.show(this.packed, overlay || layout === "packed");
    this.show(this.ghost, overlay);
    this.show(this.original, !overlay && layout === "original");
    this.camera.aspect = width / Math.max(height, 1);
    this.camera.updateProjectionMatrix();
    this.renderer.setViewport(left, 0, width, height);
    this.renderer.setScissor(left, 0, width, height);
    this.renderer.setScissorTest(true);
    this.renderer.clearStencil();
    this.renderer.render(this.scene, this.camera);
  }

  private show(figure: Figure | null, visible: boolean): void {
    if (!figure) return;
    figure.group.visible = visible;
    figure.shadow.visible = visible && figure !== this.ghost;
  }

  private order(figure: Figure, order: number): void {
    for (const mesh of figure.group.children) mesh.renderOrder = order;
    for (const mesh of figure.shadow.children) mesh.renderOrder = -1;
  }

  private add(figure: Figure, order: number): Figure {
    this.order(figure, order);
    figure.shadow.matrixAutoUpdate = false;
    this.scene.add(figure.group, figure.shadow);
    return figure;
  }

  private remove(figure: Figure | null): void {
    if (!figure) return;
    this.scene.remove(figure.group, figure.shadow);
    figure.dispose();
  }

  /** Projects the shadows of all figures onto the ground. */
  private castShadows(ground: number): void {
    const [x, z] = [LIGHT.x / LIGHT.y, LIGHT.z / LIGHT.y];
    const flat = new Matrix4().set(
      1,
      -x,
      0,
      x * ground,
      0,
      0,
      0,
      ground + 1e-3,
      0,
      -z,
      1,
      z * ground,
      0,
      0,
      0,
      1,
    );
    for (const figure of [this.packed, this.original, this.ghost]) {
      figure?.shadow.matrix.copy(flat);
    }
  }
}

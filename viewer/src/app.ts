// The state of the page; connects its parts.

import { Color, Vector3 } from "three";
import { bodyJoint, bodyOf, grown } from "./body";
import { difference, makeClip, type Clip, type Version } from "./clip";
import { PALETTES, scaleIndex, scaleTable } from "./colors";
import { contactsOf, type Contacts } from "./contacts";
import { MocpackError } from "./decoder";
import { byId } from "./dom";
import type { Brought } from "./drop";
import { showFacts } from "./facts";
import { formatLength, formatSize, formatTime } from "./format";
import { JointCurves, type Shown } from "./joint_curves";
import { JointTable } from "./joint_table";
import { Loader } from "./loader";
import { curveOf, type Curve, type Measure } from "./measures";
import { describe, hideMessage, showMessage } from "./message";
import { boundAt, packed as packedAt, type Dropped } from "./packing";
import { Playback } from "./playback";
import { WINDOW } from "./poses";
import { hotEnd, type Scale } from "./scale";
import type { Layout, Named } from "./session";
import { partOfJoint, partsOf, showParts } from "./scene_parts";
import type { Skin } from "./skin";
import { Stage, type Body } from "./stage";
import type { Theme } from "./theme";
import { Timeline } from "./timeline";
import { limbEnds } from "./trails";

const LAYOUTS: Layout[] = ["overlay", "side", "packed", "original"];

const REFRESH_MS = 80; // between updates while errors are still arriving

export class App {
  readonly stage = new Stage(byId<HTMLCanvasElement>("view"));
  clip: Clip | null = null;
  playback = new Playback(1, 1);
  layout: Layout = "overlay";
  scale: Scale = "own";
  measure: Measure = "largest";
  joint = -1; // selected in the table: its curves and trail are shown
  private chosen = 0;
  private contacts: Contacts | null = null;
  private dropped: Dropped | null = null; // the source that the server compresses at any error bound
  private packing = 0; // request counter; only the newest response is shown
  private saved = ""; // URL of the file that can be saved
  private marking = true; // whether ground contacts are shown
  curve: Curve | null = null;
  private colored = true;
  private highlight = -1;
  private framed = false;
  private shownFrame = -1;
  private stale = false; // whether new errors arrived since the last update
  private refreshed = 0;
  private cutOff = false; // the network failed and is being retried
  private loader: Loader | null = null;
  private table = scaleTable(PALETTES.light);
  private readonly timeline = new Timeline((frame) => this.seek(frame));
  private readonly joints = new JointTable({
    hover: (joint) => this.setHighlight(joint),
    choose: (joint) => this.chooseJoint(joint),
  });
  private readonly jointCurves = new JointCurves(() => this.refreshJoint());

  constructor() {
    const box = byId("stage");
    new ResizeObserver(() => {
      this.stage.resize(box.clientWidth, box.clientHeight);
      this.stage.draw(this.layout, true);
    }).observe(box);
  }

  get version(): Version | null {
    return this.clip?.versions[this.chosen] ?? null;
  }

  /** Whether the frame at the playhead failed to load. */
  get frameFailed(): boolean {
    return this.version?.windows[Math.floor(this.playback.frame / WINDOW)] === "failed";
  }

  /** Sets the uncompressed size, which may arrive after the motion. */
  setRawBytes(bytes: number): void {
    if (!this.clip || this.clip.rawBytes !== null) return;
    this.clip.rawBytes = bytes;
    this.stale = true;
  }

  /** Shows versions of a clip, and the original if there is one. */
  async show(
    packed: Named[],
    original: Named | null,
    rawBytes: number | null,
    chosen: Named,
    skin: Skin | null = null,
  ): Promise<void> {
    const clip = await makeClip(packed, original, rawBytes, skin, this.clip);
    this.loader?.close();
    const [before, old] = [this.playback, this.clip];
    const same = old !== null && !difference(old.versions[0].motion, chosen.motion);
    this.clip = clip;
    this.chosen = clip.versions.findIndex((version) => version.motion === chosen.motion);
    this.playback = new Playback(chosen.motion.frameCount, chosen.motion.frameTime);
    this.playback.speed = before.speed;
    this.playback.loop = before.loop;
    if (same) this.playback.seek(before.frame);
    this.playback.playing = same ? before.playing : old !== null;
    this.framed = this.framed && same;
    if (!same) this.joint = -1;
    this.contacts = null;
    this.stage.setFigures(chosen.motion.skeleton, original !== null, skin);
    byId("mesh").hidden = skin === null;
    this.loader = new Loader(clip, {
      loaded: (version, start, stop) => this.loaded(version, start, stop),
      failed: (error, version, start) => this.failed(error, version, start),
    });
    if (original === null) this.setLayout("overlay");
    this.refreshClip();
    this.loader.focus(this.chosen, this.playback.frame);
  }

  /** Opens files from the user: compressed files become versions, a source becomes the original. */
  async take(files: Brought[]): Promise<void> {
    hideMessage();
    // compressed files first, so that a source dropped with them finds its versions
    const order = [...files].sort((a, b) => a.kind.localeCompare(b.kind));
    for (const file of order) {
      try {
        await this.takeOne(file, await file.load());
        byId("packing").hidden = this.clip?.original?.motion !== this.dropped?.motion;
      } catch (error) {
        showMessage(describe(error, file.name));
      }
    }
  }

  private async takeOne(file: Brought, named: Named): Promise<void> {
    const now = this.clip;
    const packed = now?.versions.filter((version) => version.motion.codec !== "bvh") ?? [];
    if (file.kind === "source" && packed.length) {
      if (!difference(packed[0].motion, named.motion)) {
        const skin = ("skin" in named ? (named as Dropped).skin : null) ?? now?.skin ?? null;
        return this.show(packed, named, now?.rawBytes ?? null, this.version as Named, skin);
      }
    }
    if ("number" in named) return this.packFrom(named as Dropped);
    const fits = now !== null && !difference(now.versions[0].motion, named.motion);
    if (file.kind === "source" || !fits) return this.show([named], null, null, named);
    const source = now.versions.find((version) => version.motion.codec === "bvh");
    const original = now.original ?? source ?? null;
    return this.show([...packed, named], original, now.rawBytes, named, now.skin);
  }

  /** Shows a source with its version compressed by the server at the slider's error bound. */
  private async packFrom(dropped: Dropped): Promise<void> {
    this.dropped = dropped;
    if (dropped.note) showMessage(dropped.note);
    await this.pack();
    if (this.clip) this.playback.playing = true;
  }

  /** Compresses again at the slider's error bound; ignores all but the newest response. */
  async pack(): Promise<void> {
    const source = this.dropped;
    if (!source) return;
    const turn = ++this.packing;
    const bound = boundAt(Number(byId<HTMLInputElement>("bound").value) / 100);
    byId("bound-at").textContent = formatLength(bound);
    document.body.classList.add("waiting");
    try {
      const { named, bytes } = await packedAt(source, bound);
      if (turn !== this.packing) return;
      await this.show([named], source, source.rawBytes, named, source.skin);
      this.offer(named.name, bytes);
    } finally {
      if (turn === this.packing) document.body.classList.remove("waiting");
    }
  }

  private offer(name: string, bytes: ArrayBuffer): void {
    if (this.saved) URL.revokeObjectURL(this.saved);
    this.saved = URL.createObjectURL(new Blob([bytes], { type: "application/octet-stream" }));
    const link = byId<HTMLAnchorElement>("save");
    link.href = this.saved;
    link.download = name;
    byId("packing").hidden = false;
  }

  private loaded(version: Version, start: number, stop: number): void {
    if (this.cutOff) hideMessage();
    this.cutOff = false;
    if (!this.framed && version.poses.at(start)) this.frameView(version, start, stop);
    if (version !== this.version) return;
    if (this.playback.frame >= start && this.playback.frame < stop) this.shownFrame = -1;
    this.stale = true;
  }

  private failed(error: unknown, version: Version, start: number): void {
    this.cutOff = error instanceof MocpackError && error.kind === "network";
    if (this.cutOff) return showMessage(describe(error, version.name));
    showMessage(`${describe(error, version.name)}\nFrames from ${start} are missing.`);
  }

  private frameView(version: Version, start: number, stop: number): void {
    this.framed = true;
    const bones = bodyOf(version.poses, start, stop, this.playback.frame);
    this.stage.frame(this.dressed(bones, version, start), (this.clip as Clip).origin);
  }

  /** Creates a body with its mesh, if it has one. */
  private dressed(body: Body, { poses, motion }: Version, frame: number): Body {
    const [points, turns, figure] = [poses.at(frame), poses.turnsAt(frame), this.stage.packed];
    if (!points || !turns || !figure) return body;
    figure.pose(points, turns);
    return grown(body, points, bodyJoint(motion.skeleton), figure.outline());
  }

  /** Advances the page by one animation frame. */
  tick(seconds: number): void {
    const version = this.version;
    if (version) {
      this.playback.advance(seconds, (frame) => this.settled(version, frame));
      if (this.playback.frame !== this.shownFrame) this.showFrame(this.playback.playing ? 0.12 : 1);
      else if (this.playback.playing) this.carry(0.12);
    }
    if (this.stale && performance.now() - this.refreshed > REFRESH_MS) this.refreshErrors();
    this.stage.draw(this.layout);
    document.body.classList.toggle("playing", this.playback.playing);
  }

  seek(frame: number): void {
    this.playback.seek(frame);
    this.showFrame(1);
  }

  step(frames: number): void {
    this.playback.playing = false;
    this.seek(this.playback.frame + frames);
  }

  goToWorst(): void {
    const worst = this.version?.errors?.worstFrame ?? -1;
    if (worst >= 0) this.pauseAt(worst);
  }

  /** Shows a joint's curves and goes to its worst frame; a second click deselects it. */
  private chooseJoint(joint: number): void {
    this.joint = this.joint === joint ? -1 : joint;
    this.joints.mark(this.joint);
    const errors = this.version?.errors;
    if (errors && this.joint >= 0) this.pauseAt(errors.jointWorst[joint]);
    this.stale = true;
    this.showFrame(1);
  }

  setScale(scale: Scale): void {
    this.scale = scale;
    this.colorPacked();
    this.refreshErrors();
  }

  setMeasure(measure: Measure): void {
    this.measure = measure;
    this.refreshErrors();
  }

  setJointShown(shown: Shown): void {
    this.jointCurves.shown = shown;
    this.refreshJoint();
  }

  toggleTrails(): boolean {
    const { lines } = this.stage.trails;
    lines.visible = !lines.visible;
    this.showFrame(1);
    return lines.visible;
  }

  toggleMesh(): boolean {
    this.stage.showMeshes(!this.stage.meshed);
    this.recolor();
    return this.stage.meshed;
  }

  /** Recolors both figures, since hidden ones are not updated. */
  private recolor(): void {
    this.colorPacked();
    this.stage.colorOriginal(new Color(this.stage.palette.original));
  }

  toggleContacts(): boolean {
    this.marking = !this.marking;
    this.showFrame(1);
    return this.marking;
  }

  private pauseAt(frame: number): void {
    this.playback.playing = false;
    this.seek(frame);
  }

  /** Playback does not wait for frames that failed. */
  private settled(version: Version, frame: number): boolean {
    const state = version.windows[Math.floor(frame / WINDOW)];
    return state === "ready" || state === "failed";
  }

  private showFrame(share: number): void {
    const version = this.version;
    if (!version || !this.clip) return;
    const { frame } = this.playback;
    this.loader?.focus(this.chosen, frame);
    const points = version.poses.at(frame);
    if (points) {
      this.shownFrame = frame;
      this.stage.packed?.pose(points, version.poses.turnsAt(frame));
      this.colorPacked();
      this.carry(share);
    }
    const original = this.clip.original?.poses;
    const source = original?.at(frame);
    if (source) this.stage.poseOriginal(source, original?.turnsAt(frame) ?? null);
    this.markGround(version, frame);
    this.refreshFrame();
    this.stage.invalidate();
  }

  private markGround(version: Version, frame: number): void {
    const points = version.poses.at(frame);
    const { feet, planted } = this.shownContacts;
    const here = feet.filter((_, f) => planted[f][frame]);
    this.stage.markFeet(points ? here.map((j) => [points[3 * j], points[3 * j + 2]]) : []);
    if (!this.stage.trails.lines.visible) return;
    const joints = this.joint >= 0 ? [this.joint] : limbEnds(version.motion.skeleton.parents);
    this.stage.trails.show(version.poses, joints, frame);
  }

  private get shownContacts(): Contacts {
    return (this.marking && this.contacts) || { feet: [], planted: [] };
  }

  /** Contacts of the original once it is loaded; without an original, of the version. */
  private findContacts(clip: Clip, version: Version): void {
    if (this.contacts || version.windows.some((state) => state !== "ready")) return;
    const { motion, poses } = clip.original ?? version;
    this.contacts = contactsOf(motion.skeleton, poses, 1 / motion.frameTime);
    this.shownFrame = -1;
  }

  private carry(share: number): void {
    const points = this.version?.poses.at(this.playback.frame);
    const root = this.version && this.rootAt(this.version, this.playback.frame);
    if (!points || !root) return;
    const top = points.reduce(
      (most, value, k) => (k % 3 === 1 ? Math.max(most, value) : most),
      root.y,
    );
    this.stage.moveTo(root, share, top);
  }

  private rootAt(version: Version, frame: number): Vector3 | null {
    const points = version.poses.at(frame);
    return points ? new Vector3().fromArray(points, 3 * bodyJoint(version.motion.skeleton)) : null;
  }

  setVersion(index: number): void {
    const count = this.clip?.versions.length ?? 0;
    if (index < 0 || index >= count || index === this.chosen) return;
    this.chosen = index;
    this.refreshClip();
  }

  nextVersion(by: number): void {
    this.setVersion(this.chosen + by);
  }

  setLayout(layout: Layout): void {
    this.layout = this.clip?.original ? layout : "overlay";
    for (const button of byId("layouts").querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(button.dataset.layout === this.layout));
    }
    byId("labels").hidden = this.layout !== "side";
    this.stage.invalidate();
  }

  nextLayout(): void {
    this.setLayout(LAYOUTS[(LAYOUTS.indexOf(this.layout) + 1) % LAYOUTS.length]);
  }

  toggleColors(): void {
    this.colored = !this.colored;
    byId("legend").setAttribute("aria-pressed", String(this.colored));
    this.colorPacked();
  }

  setTheme(theme: Theme): void {
    const palette = PALETTES[theme];
    this.table = scaleTable(palette);
    this.stage.setPalette(palette, theme === "dark");
    byId("legend-bar").style.background = `linear-gradient(90deg, ${palette.scale.join(", ")})`;
    this.colorPacked();
    showParts(partsOf(this.version?.motion), palette.clips);
    this.stage.colorOriginal(new Color(palette.original));
    this.refreshFrame();
  }

  private setHighlight(joint: number): void {
    this.highlight = joint;
    this.colorPacked();
  }

  /** The error at the end of the color scale. */
  get full(): number {
    return this.clip && this.version ? hotEnd(this.scale, this.clip, this.version) : 0;
  }

  private colorPacked(): void {
    const errors = this.colored ? this.version?.errors?.jointsAt(this.playback.frame) : null;
    const { table, full, highlight } = this;
    const marked = new Color(this.stage.palette.highlight);
    const owner = partOfJoint(partsOf(this.version?.motion));
    const owners = this.stage.palette.clips.map((text) => new Color(text));
    this.stage.packed?.color((joint, out) => {
      if (joint === highlight) return out.copy(marked);
      if (!errors && owner.length) return out.copy(owners[owner[joint] % owners.length]);
      return out.fromArray(table, errors ? scaleIndex(errors[joint], full) : 0);
    });
    this.stage.invalidate();
  }

  private refreshClip(): void {
    const { clip, version } = this;
    if (!clip || !version) return;
    byId("welcome").hidden = true;
    document.body.classList.remove("empty");
    document.title = `${version.name} · mocpack`;
    byId("title").textContent = version.name;
    byId("against").textContent = clip.original ? `against ${clip.original.name}` : "";
    byId("layouts").hidden =
      byId("worst").hidden =
      byId("legend").hidden =
      byId("comparing").hidden =
      byId("measure").hidden =
      byId("readout").hidden =
        !clip.original;
    byId("label-packed").textContent = version.name;
    byId("label-original").textContent = clip.original?.name ?? "";
    showParts(partsOf(version.motion), this.stage.palette.clips);
    this.setLayout(this.layout);
    this.refreshSlider(clip);
    const { names, parents } = version.motion.skeleton;
    this.joints.reset(names, parents, version.errors);
    this.joints.mark(this.joint);
    this.stage.colorOriginal(new Color(this.stage.palette.original));
    this.shownFrame = -1;
    this.refreshErrors();
  }

  private refreshSlider(clip: Clip): void {
    const many = clip.versions.length > 1;
    byId("versions").hidden = !many;
    if (!many) return;
    const slider = byId<HTMLInputElement>("version");
    slider.max = String(clip.versions.length - 1);
    slider.value = String(this.chosen);
    const { motion, name } = clip.versions[this.chosen];
    const allowed =
      motion.declaredError === null ? name : `${formatLength(motion.declaredError)} allowed`;
    byId("version-at").textContent =
      `${this.chosen + 1} of ${clip.versions.length} · ${allowed} · ${formatSize(motion.sizes.file)}`;
    slider.setAttribute("aria-valuetext", `${name}, ${formatSize(motion.sizes.file)}`);
  }

  private refreshErrors(): void {
    const { clip, version } = this;
    if (!clip || !version) return;
    this.stale = false;
    this.refreshed = performance.now();
    this.findContacts(clip, version);
    this.curve = curveOf(this.measure, clip, version, this.joint, this.contacts);
    showFacts(clip, version);
    byId("legend-full").textContent = formatLength(this.full);
    if (version.errors && version.errors.worstFrame >= 0) {
      byId("worst-error").textContent = formatLength(version.errors.max);
      byId("worst-frame").textContent = `frame ${version.errors.worstFrame}`;
    }
    this.refreshFrame();
  }

  private refreshFrame(): void {
    const { version, playback } = this;
    if (!version) return;
    byId("frame").textContent = String(playback.frame);
    byId("frames").textContent = `/ ${playback.frameCount - 1}`;
    byId("time").textContent = formatTime(playback.seconds);
    const scale = this.stage.palette.scale;
    this.timeline.update({
      frame: playback.frame,
      frameCount: playback.frameCount,
      frameTime: playback.frameTime,
      curve: this.curve,
      planted: this.shownContacts.planted,
      declared: version.motion.declaredError,
      full: this.full,
      scale,
    });
    this.joints.update(playback.frame, (error) => this.cssColor(error));
    this.refreshReadout(version);
    this.refreshJoint();
  }

  private refreshJoint(): void {
    const { clip, version } = this;
    if (clip && version) this.jointCurves.update(clip, version, this.joint, this.playback.frame);
  }

  private refreshReadout(version: Version): void {
    const errors = version.errors?.jointsAt(this.playback.frame);
    if (!errors) return;
    const worst = errors.indexOf(errors.reduce((a, b) => Math.max(a, b)));
    byId("here-error").textContent = formatLength(errors[worst]);
    byId("here-joint").textContent = version.motion.skeleton.names[worst];
  }

  private cssColor(error: number): string {
    return `#${new Color().fromArray(this.table, scaleIndex(error, this.full)).getHexString()}`;
  }
}

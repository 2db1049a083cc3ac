/** Live streaming: `live(url)` watches a stage of a relay, `mocpack live serve`. */

export { isHello, readHello, type Hello } from "./hello.js";
export { Player } from "./player.js";
export {
  loadReceiver,
  Receiver,
  type PacketStatus,
  type LivePose,
  type Report,
} from "./receiver.js";
export { live, type LiveOptions, type Performer, type Stage, type StageEvents } from "./stage.js";

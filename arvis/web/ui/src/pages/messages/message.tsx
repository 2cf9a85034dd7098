import type { Item } from "../../api/types";
import { Status, type Tone } from "../../parts/show";
import { texts } from "./texts";

export type Message = Item<"GET /api/messages">;
export type MessageStatus = Message["status"];

/** The statuses in the order of the filter: those that need a person come first. */
export const STATUSES: readonly MessageStatus[] = [
  "failed",
  "dropped",
  "waiting",
  "queued",
  "running",
  "answered",
  "cancelled",
  "expired",
];

const TONES: Record<MessageStatus, Tone> = {
  accepted: "plain",
  queued: "plain",
  running: "accent",
  waiting: "warn",
  answered: "good",
  failed: "trouble",
  dropped: "trouble",
  cancelled: "warn",
  expired: "warn",
};

export function MessageState({ status }: { status: MessageStatus }) {
  return <Status tone={TONES[status]}>{texts.statuses[status]}</Status>;
}

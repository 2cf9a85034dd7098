/** Frames of the socket (docs/reference/socket.md) as this page uses them. */

import { randomId } from "../../api/client";
import type { Frame } from "../../api/connection";
import type { Delivery } from "./conversation";
import type { Fault, Note } from "./entries";

/** The text, or `null` if the field is missing or has another type. */
export const text = (value: unknown): string | null => (typeof value === "string" ? value : null);

type RawFile = { name: string; contentType: string; size: number; url: string };

export function deliveryOf(frame: Frame): Delivery {
  const replyTo = text(frame.replyTo);
  const answers = frame.answers as string[] | undefined;
  return {
    seq: Number(frame.seq),
    messageId: text(frame.messageId) ?? "",
    replyTo,
    answers: answers ?? (replyTo === null ? [] : [replyTo]),
    content: text(frame.content) ?? "",
    at: Number(frame.timestamp),
    agent: text(frame.agent),
    buttons: ((frame.buttons ?? []) as { id: string; label: string }[]).map(({ id, label }) => ({ id, label })),
    files: ((frame.files ?? []) as RawFile[]).map(({ name, contentType, size, url }) => ({
      name,
      contentType,
      size,
      url,
    })),
  };
}

/** The note that a frame adds to the conversation, or null. Its key is the same if the frame may arrive again. */
export function noteOf(frame: Frame): { note: Note; key: string } | null {
  if (frame.type === "agent_moved") {
    const note: Note = { about: "moved", from: text(frame.from) ?? "", to: text(frame.to) ?? "" };
    return { note, key: `note moved ${randomId()}` };
  }
  if (frame.type === "clicked") {
    const words = text(frame.text) ?? "";
    return words === "" ? null : { note: { about: "clicked", words }, key: `note clicked ${randomId()}` };
  }
  if (frame.type !== "transfer_data") return null;
  // A plain answer visibly ends; the end of a plan or a handover does not, so it gets a note.
  const [graph, how] = [text(frame.graph) ?? "", text(frame.stopReason) ?? ""];
  if (graph === "agent" && how !== "blocked") return null;
  return { note: { about: "ended", graph, how }, key: `note ended ${text(frame.messageId) ?? ""}` };
}

export function faultOf(frame: Frame): Fault {
  const said = (frame.error ?? frame) as { message?: string; fix?: string };
  return { message: said.message ?? "", fix: said.fix ?? "" };
}

/** Frames of the socket (docs/reference/socket.md) as this page uses them. */

import type { Frame } from "../../api/connection";
import type { Delivery } from "./conversation";

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

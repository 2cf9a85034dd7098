/**
 * The stored past of a channel, as entries of conversation.js.
 */

import { request } from "./api.js";
import { toMs } from "./text.js";

/** How far back the page looks. */
const MESSAGES = 100;
const CONVERSATIONS = 200;

/**
 * Stored messages of a channel, oldest first: none where nobody has spoken yet, null when the conversation is not among
 * the last used ones and the socket has to bring what it can.
 *
 * @param {{channelId: string, agent?: string, thread: string}} place a channel without an agent may have met several
 */
export async function past({ channelId, agent, thread }) {
  const query = new URLSearchParams({ limit: String(CONVERSATIONS), ...(agent && { agent }) });
  const { items, nextCursor } = await request("GET", `/api/conversations?${query}`);
  const isHere = (item) => item.platform === "web" && item.channelId === channelId && item.thread === thread;
  const here = items.filter(isHere);
  if (here.length === 0 && nextCursor) return null;
  const stored = await Promise.all(here.map(messages));
  return stored.flat().sort((one, other) => one.at - other.at).slice(-MESSAGES);
}

async function messages({ id, agent }) {
  const { items } = await request("GET", `/api/conversations/${encodeURIComponent(id)}/messages?limit=${MESSAGES}`);
  return items.reverse().map((message) => entry(message, agent));
}

function entry({ id, role, content, createdAt, status, reason, replyTo, attachments }, agent) {
  const at = toMs(createdAt);
  const common = { key: `past ${id}`, messageId: id, text: content, at, files: attachments ?? [], past: true };
  if (role === "user") return { ...common, kind: "user", id, status, reason };
  return { ...common, kind: "agent", replyTo: replyTo ?? null, agent, final: true, streaming: false, buttons: [] };
}

/** The stored history of a channel: the messages of all its conversations, merged by time. The newest part is read first. */

import { call } from "../../api/client";
import type { Item } from "../../api/types";
import { type AgentEntry, type Asked, type ShownFile, statusOf, type UserEntry } from "./conversation";

type Conversation = Item<"GET /api/conversations">;
type Message = Item<"GET /api/conversations/{conversation}/messages">;

/** The address of a chat. In an agent's channel, everyone except owners and operators has their own thread. */
export type Place = { channel: string; thread: string };

const PAGE = 100;
/** The number of messages per request. It is high, because a reader of older messages usually needs many. */
export const OLDER = 200;
const CONVERSATIONS = 100;
const WRITTEN_ON_THE_WAY = "progress";

type Source = { talk: Conversation; waiting: Message[]; cursor: string | undefined; done: boolean };

/** Reads backwards from now. Messages are not read twice; create a new instance to start again. */
export class Past {
  /** Ids of the conversations found here. */
  readonly talks = new Set<string>();
  #sources: Source[] = [];
  #cursor: string | undefined;
  #listed = false;

  constructor(readonly place: Place) {}

  /** The next messages, oldest first, and whether there are older ones. */
  async next(count: number = PAGE): Promise<{ entries: (UserEntry | AgentEntry)[]; more: boolean }> {
    const found: [Message, Conversation][] = [];
    while (found.length < count) {
      const source = await this.#newest();
      const message = source?.waiting.shift();
      if (source === undefined || message === undefined) break;
      found.push([message, source.talk]);
    }
    return {
      entries: found.reverse().map(([message, talk]) => entryOf(message, talk)),
      more: (await this.#newest()) !== undefined,
    };
  }

  /** The conversation with the newest unread message. Only conversations that can contain it are requested. */
  async #newest(): Promise<Source | undefined> {
    if (!this.#listed) await this.#list();
    for (;;) {
      const [first] = this.#sources
        .filter((source) => source.waiting.length > 0 || !source.done)
        .sort((one, other) => newestOf(other) - newestOf(one));
      const unlisted = this.#cursor !== undefined && (this.#sources.at(-1)?.talk.lastMessageAt ?? 0);
      if (unlisted !== false && (first === undefined || newestOf(first) <= unlisted)) await this.#list();
      else if (first === undefined || first.waiting.length > 0) return first;
      else await this.#read(first);
    }
  }

  async #list(): Promise<void> {
    const { channel, thread } = this.place;
    const query = { platform: "web", channel, thread, limit: CONVERSATIONS, cursor: this.#cursor };
    const { items, nextCursor } = await call("GET /api/conversations", { query });
    this.#listed = true;
    this.#cursor = nextCursor ?? undefined;
    for (const talk of items) {
      if (talk.platform !== "web" || talk.channelId !== channel || talk.thread !== thread) continue;
      this.talks.add(talk.id);
      this.#sources.push({ talk, waiting: [], cursor: undefined, done: false });
    }
  }

  async #read(source: Source): Promise<void> {
    const { items, nextCursor } = await call("GET /api/conversations/{conversation}/messages", {
      path: { conversation: source.talk.id },
      query: { limit: PAGE, cursor: source.cursor },
    });
    source.waiting = items;
    source.cursor = nextCursor ?? undefined;
    source.done = nextCursor === null;
  }
}

const newestOf = (source: Source): number => source.waiting[0]?.createdAt ?? source.talk.lastMessageAt;

function entryOf(message: Message, talk: Conversation): UserEntry | AgentEntry {
  const common = {
    key: `past ${message.id}`,
    messageId: message.id,
    text: message.content,
    at: message.createdAt,
    past: true,
  };
  if (message.role === "user") {
    const files = message.attachments.map(
      (file): ShownFile => ({ name: file.filename, size: file.size, contentType: file.contentType, url: file.url }),
    );
    const voice = message.attachments.some((file) => file.kind === "voice");
    const state = { status: statusOf(message.status), reason: message.reason, fix: null };
    // A daemon older than this page does not send these fields.
    const versions = (message.versions ?? []).map((each) => ({ ...each, conversation: talk.id }));
    const quotations = message.quotations ?? [];
    return { ...common, ...state, kind: "user", id: null, files, voice, quotations, versions };
  }
  return {
    ...common,
    kind: "agent",
    replyTo: message.replyTo,
    length: 0,
    agent: message.agent ?? talk.agent,
    final: true,
    streaming: false,
    // A notice may end a message; progress texts never do.
    aside: message.role === WRITTEN_ON_THE_WAY || message.role === "notice",
    notice: message.role === "notice",
    // A daemon older than this page does not send this field.
    question: message.question ? questionOf(message.question) : null,
    buttons: message.buttons.map(({ id, label }) => ({ id, label })),
    ratings: message.feedback ?? [],
    files: message.files.map(({ name, size, contentType, url }) => ({ name, size, contentType, url })),
  };
}

const questionOf = ({ id, state, decision }: NonNullable<Message["question"]>): Asked => ({
  id,
  open: state === "open",
  decision,
});

/**
 * One channel for the page: the connection, the state and the unacknowledged messages. The server recognizes a message by its
 * id, so all unacknowledged messages can safely be resent after each reconnect. This module does not touch DOM elements.
 */

import { ApiError, randomId } from "../../api/client";
import { Connection, type Frame, type Link } from "../../api/connection";
import type { Talk, UserEntry } from "./conversation";
import * as conversation from "./conversation";
import { Dictation } from "./dictation";
import type { Upload } from "./draftStore";
import type { Fault, Quotation, View } from "./entries";
import { deliveryOf, faultOf, noteOf, text } from "./frames";
import { Outbox, type Outgoing, outgoing } from "./outbox";
import { OLDER, Past, type Place } from "./past";

const TOO_BIG = 1009;

export type * from "./entries";

export class Chat {
  view: View = { talk: conversation.empty(), link: { name: "connecting" }, loaded: false, older: "none", fault: null };
  /** The agent that answers, if the channel does not decide it. */
  agent: string | null = null;
  readonly dictation: Dictation;
  readonly #outbox: Outbox;
  #stale = false;
  #past: Past | null = null;
  /** The number of reloads: history that was requested before the newest one may belong to another version. */
  #reloads = 0;
  #listeners = new Set<() => void>();
  #frame = 0;
  readonly #connection: Connection;

  constructor(
    readonly place: Place,
    userId: string,
    readonly hooks: { onAnswer: (chat: Chat) => void },
  ) {
    this.#outbox = new Outbox(userId, place);
    this.#connection = new Connection({
      hello: () => this.#hello(),
      onFrame: (frame) => this.#received(frame),
      onReady: (greeting) => this.#ready(Number(greeting.seq)),
      onLink: (link) => this.#linkChanged(link),
    });
    this.dictation = new Dictation((frame) => this.#connection.send(frame));
  }

  /** Show the history and the unsent messages, then connect: the history decides whether the socket has to replay. */
  async open(): Promise<void> {
    for (const { frame, at } of await this.#outbox.restore()) this.#write(frame, at);
    if (!(await this.#remember())) this.#become({ ...this.view.talk, lastSeq: 0 });
    this.#connection.open();
  }

  close(): void {
    this.#connection.close();
  }

  retry(): void {
    this.#connection.retryNow();
  }

  subscribe = (changed: () => void): (() => void) => {
    this.#listeners.add(changed);
    return () => void this.#listeners.delete(changed);
  };

  send(words: string, uploads: readonly Upload[], answered: Quotation | null = null, voice = false): void {
    const frame = outgoing(words, uploads, answered?.messageId ?? null, voice);
    if (this.agent !== null) frame.agent = this.agent;
    const at = Date.now();
    this.#outbox.hold(frame, uploads, at);
    this.#write(frame, at, answered === null ? [] : [answered]);
    this.#connection.send(frame);
  }

  /** Show a message that is not acknowledged. */
  #write({ id, content: text, attachments = [] }: Outgoing, at: number, quotations: readonly Quotation[] = []): void {
    const uploads = this.#outbox.get(id)?.uploads ?? [];
    const files = uploads.map(({ name, size, contentType, url }) => ({ name, size, contentType, url }));
    const voice = attachments.some((attachment) => attachment.voice === true);
    this.#become(conversation.written(this.view.talk, { id, text, files, at, voice, quotations }));
  }

  stop(): void {
    this.#connection.send({ type: "stop" });
  }

  click(buttonId: string): boolean {
    return this.#connection.send({ type: "click", buttonId, id: randomId() });
  }

  /** Remove a refused message and return its content. */
  withdraw(entry: UserEntry): { text: string; uploads: readonly Upload[] } {
    const uploads = this.#kept.get(entry.id ?? "") ?? [];
    this.#become(conversation.withdrawn(this.view.talk, entry.id ?? ""));
    return { text: entry.text, uploads };
  }

  /** Uploads of refused messages. */
  #kept = new Map<string, readonly Upload[]>();

  dismiss(): void {
    this.#show({ fault: null });
  }

  /** True if unsent content would be lost if the page is closed. */
  get hasUnsent(): boolean {
    return this.#outbox.atRisk || this.dictation.hasUnsent;
  }

  /** True if this conversation belongs to this channel. */
  holds(conversationId: string): boolean {
    return this.#past?.talks.has(conversationId) ?? false;
  }

  /** Show the stored history in place of the present entries, because another version of the conversation is active. */
  async reload(): Promise<void> {
    const [reload, past] = [this.#reloads + 1, new Past(this.place)];
    this.#reloads = reload;
    try {
      const { entries, more } = await past.next();
      if (reload !== this.#reloads) return;
      this.#past = past;
      this.#show({ loaded: true, talk: conversation.rewound(this.view.talk, entries), older: more ? "more" : "none" });
    } catch (error) {
      const older = this.view.older === "loading" ? "more" : this.view.older;
      if (reload === this.#reloads) this.#show({ loaded: true, older });
      this.#complain(error);
    }
  }

  async loadOlder(): Promise<void> {
    if (this.#past === null || this.view.older !== "more") return;
    this.#show({ older: "loading" });
    const reload = this.#reloads;
    try {
      const { entries, more } = await this.#past.next(OLDER);
      if (reload !== this.#reloads) return;
      this.#show({ talk: conversation.remembered(this.view.talk, entries), older: more ? "more" : "none" });
    } catch (error) {
      if (reload === this.#reloads) this.#show({ older: "more" });
      this.#complain(error);
    }
  }

  #hello(): Record<string, unknown> {
    const { lastSeq } = this.view.talk;
    return { channelId: this.place.channel, ...(lastSeq !== null && { lastSeq }) };
  }

  #ready(seq: number): void {
    // Without a replay, `lastSeq` starts at the server's current value; during a replay, each delivery advances it.
    const { talk } = this.view;
    if (talk.lastSeq === null) this.#become({ ...talk, lastSeq: seq });
    for (const entry of conversation.unsent(talk)) {
      const kept = this.#outbox.get(entry.id ?? "");
      if (kept !== undefined) this.#connection.send(kept.frame);
    }
    this.dictation.resend();
    // Messages stored between the first load and the greeting are not replayed, and states may have changed.
    void this.#remember();
  }

  /** Remove a message from the outbox. */
  #settle(id: string): void {
    this.#outbox.settle(id);
    if (this.#stale && this.#outbox.size === 0) void this.#remember();
  }

  /** Merge the newest stored history. Return true if it could be loaded. */
  async #remember(): Promise<boolean> {
    this.#stale = false;
    const reload = this.#reloads;
    const past = new Past(this.place);
    let found: Awaited<ReturnType<Past["next"]>> | null = null;
    try {
      found = await past.next();
    } catch (error) {
      this.#complain(error);
    }
    if (reload !== this.#reloads) return true;
    // While one of our messages is unacknowledged, its stored copy cannot be recognized: load again after the acknowledgement.
    this.#stale = this.#connection.ready && this.#outbox.size > 0;
    if (this.#stale || found === null) {
      this.#show({ loaded: true });
      return found !== null;
    }
    const first = this.#past === null;
    if (first) this.#past = past;
    else for (const talk of past.talks) this.#past?.talks.add(talk);
    const talk = conversation.remembered(this.view.talk, found.entries);
    this.#show({ loaded: true, talk, ...(first && { older: found.more ? "more" : "none" }) });
    return true;
  }

  /** Some roles may chat but not read the history; an unreachable daemon is reported by the connection. */
  #complain(error: unknown): void {
    if (!(error instanceof ApiError)) throw error;
    if (![0, 401, 403].includes(error.status)) this.#show({ fault: { message: error.message, fix: error.fix } });
  }

  #linkChanged(link: Link): void {
    // The server closed the connection because a frame was too large: resending it would repeat that endlessly.
    const largest = link.name === "waiting" && link.code === TOO_BIG ? this.#outbox.largest() : undefined;
    if (largest) this.#refuse(largest.id, { message: "Too large for the server", fix: "Send fewer or smaller files." });
    this.#show({ link });
  }

  #refuse(id: string, { message, fix }: Fault): void {
    this.#kept.set(id, this.#outbox.get(id)?.uploads ?? []);
    this.#become(conversation.refused(this.view.talk, id, message, fix));
    this.#settle(id);
  }

  /** Ignore fields that only a newer server knows. */
  #received(frame: Frame): void {
    const { talk } = this.view;
    const messageId = text(frame.messageId) ?? "";
    if (frame.type === "ack") this.#acknowledged(frame);
    else if (frame.type === "typing") this.#become(conversation.typing(talk));
    else if (frame.type === "delta") {
      const piece = text(frame.text) ?? "";
      this.#become(conversation.streamed(talk, messageId, Number(frame.offset), piece, Date.now()));
    } else if (frame.type === "status") {
      this.#become(conversation.statusChanged(talk, messageId, text(frame.status) ?? "", text(frame.reason)));
      this.#heard(messageId);
    } else if (frame.type === "message") this.#delivered(frame);
    else if (frame.type === "rewound") void this.reload();
    else if (frame.type === "error") this.#failed(frame);
    else this.#note(frame);
  }

  #acknowledged(frame: Frame): void {
    if (this.dictation.acknowledged(frame)) {
      void this.#remember(); // a transcript became a message, whose text only the server knows
      return;
    }
    const id = text(frame.id) ?? "";
    this.#become(conversation.acknowledged(this.view.talk, id, text(frame.messageId) ?? ""));
    this.#settle(id);
  }

  #delivered(frame: Frame): void {
    const before = this.view.talk;
    const delivery = deliveryOf(frame);
    this.#become(conversation.delivered(before, delivery));
    if (this.view.talk === before) return;
    this.hooks.onAnswer(this);
    for (const answered of delivery.answers) this.#heard(answered);
    if (delivery.replyTo === null || this.#question(delivery.replyTo) !== undefined) return;
    // The question belongs to a message of ours that is not acknowledged yet, or that was written in another window or on
    // another device.
    this.#stale = true;
    if (this.#outbox.size === 0) void this.#remember();
  }

  /** The transcript of a voice message is known once its work has ended. */
  #heard(messageId: string): void {
    const entry = this.#question(messageId);
    if (entry === undefined || !entry.voice || conversation.isOpen(entry.status) || entry.text !== "") return;
    this.#stale = true;
    if (this.#outbox.size === 0) void this.#remember();
  }

  #question(messageId: string): UserEntry | undefined {
    return this.view.talk.entries.find(
      (entry): entry is UserEntry => entry.kind === "user" && entry.messageId === messageId,
    );
  }

  #note(frame: Frame): void {
    const found = noteOf(frame);
    if (found !== null) this.#become(conversation.noted(this.view.talk, found.key, Date.now(), found.note));
  }

  #failed(frame: Frame): void {
    const fault = faultOf(frame);
    const id = text(frame.id) ?? "";
    this.dictation.refused(frame);
    if (this.#outbox.get(id) !== undefined) this.#refuse(id, fault);
    else this.#show({ fault });
  }

  #become(talk: Talk): void {
    if (talk !== this.view.talk) this.#show({ talk });
  }

  /** Changes within one animation frame are drawn once. */
  #show(change: Partial<View>): void {
    this.view = { ...this.view, ...change };
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      for (const changed of this.#listeners) changed();
    });
  }
}

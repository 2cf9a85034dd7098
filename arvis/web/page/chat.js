/**
 * One channel as the page uses it: the connection, the state and the messages that are not acknowledged yet. Sending
 * twice is safe because the server knows a message by its id, so everything unacknowledged is simply sent again
 * after each reconnect. This module never touches elements.
 */

import { ApiError } from "./api.js";
import { Connection } from "./connection.js";
import * as conversation from "./conversation.js";

const TOO_BIG = 1009;

/** How much of a frame its text and files make up, in characters. */
function weight({ content, attachments = [] }) {
  return attachments.reduce((sum, { data }) => sum + data.length, content.length);
}

export class Chat {
  #outbox = new Map();
  #stale = false;

  /**
   * @param {object} options
   * @param {string} options.channelId
   * @param {string} options.url address of the socket
   * @param {() => Promise<object[]|null>} options.past the stored messages, oldest first; null when not to be had
   * @param {(chat: Chat) => void} options.onChange the state has changed
   * @param {(chat: Chat) => void} options.onLink the connection has changed
   * @param {(chat: Chat, entry: object) => void} options.onAnswer a delivery was shown for the first time
   * @param {(fault: {message: string, fix?: string}) => void} options.onFault an error that belongs to no message
   */
  constructor({ channelId, url, past, onChange, onLink, onAnswer, onFault }) {
    Object.assign(this, { channelId, past, onChange, onLink, onAnswer, onFault });
    this.state = conversation.empty();
    this.link = { name: "connecting" };
    this.loaded = false;
    this.connection = new Connection({
      url,
      hello: () => this.#hello(),
      onFrame: (frame) => this.#received(frame),
      onReady: (greeting) => this.#ready(greeting),
      onState: (link) => this.#linkChanged(link),
    });
  }

  /** Show the past, then connect: the past tells whether the socket has to replay it. */
  async open() {
    const available = await this.#remember();
    if (!available) this.state = { ...this.state, lastSeq: 0 };
    this.connection.open();
  }

  /** @param {{text: string, files: {filename: string, contentType: string, data: string, size: number}[]}} draft */
  send({ text, files }) {
    const id = crypto.randomUUID();
    const attachments = files.map(({ filename, contentType, data }) => ({ filename, contentType, data }));
    const frame = { type: "message", id, content: text, ...(attachments.length > 0 && { attachments }) };
    this.#outbox.set(id, frame);
    const names = files.map(({ filename, size }) => ({ filename, size }));
    this.#become(conversation.written(this.state, { id, text, files: names, at: Date.now() }));
    this.connection.send(frame);
  }

  stop() {
    this.connection.send({ type: "stop" });
  }

  click(buttonId, data) {
    this.connection.send({ type: "click", buttonId, ...(data !== undefined && { data }) });
  }

  /** Remove a refused message and give its text back. */
  withdraw(entry) {
    this.#become(conversation.withdrawn(this.state, entry.id));
    return entry.text;
  }

  get hasUnsent() {
    return this.#outbox.size > 0;
  }

  #hello() {
    const { lastSeq } = this.state;
    return { channelId: this.channelId, ...(lastSeq !== null && { lastSeq }) };
  }

  #ready({ seq }) {
    // Without a replay this is where we come in; with one, each delivery moves the mark itself.
    if (this.state.lastSeq === null) this.state = { ...this.state, lastSeq: seq };
    for (const entry of conversation.unsent(this.state)) this.connection.send(this.#outbox.get(entry.id));
    // Whatever was stored between the first look and the greeting is not replayed, and states may have moved on.
    this.#remember();
  }

  /** Take a message out of the outbox, for whichever reason. */
  #settle(id) {
    this.#outbox.delete(id);
    if (this.#stale && !this.hasUnsent) this.#remember();
  }

  /** Weave in the stored past; whether it was to be had. */
  async #remember() {
    this.#stale = false;
    let past = null;
    try {
      past = await this.past();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      // Some roles may chat but not read the past, and an absent daemon is the connection's news.
      if (![0, 401, 403].includes(error.status)) this.onFault(error);
    }
    this.loaded = true;
    // A stored message without its acknowledgement cannot be told from one of our own: look again after that.
    this.#stale = this.connection.ready && this.hasUnsent;
    if (this.#stale) return past !== null;
    this.#become(past ? conversation.remembered(this.state, past) : this.state);
    return past !== null;
  }

  #linkChanged(link) {
    if (link.code === TOO_BIG) this.#refuseLargest();
    this.link = link;
    this.onLink(this);
    this.onChange(this);
  }

  /** The server hung up because a frame was too big: sent again, it would do so for ever. */
  #refuseLargest() {
    const [largest] = [...this.#outbox.values()].sort((one, other) => weight(other) - weight(one));
    if (largest) this.#refuse(largest.id, { message: "Too large for the server", fix: "Send fewer or smaller files." });
  }

  #refuse(id, { message, fix }) {
    this.#become(conversation.refused(this.state, { id, reason: message, fix }));
    this.#settle(id);
  }

  #received(frame) {
    switch (frame.type) {
      case "ack":
        this.#become(conversation.acknowledged(this.state, frame));
        return this.#settle(frame.id);
      case "typing":
        return this.#become(conversation.typing(this.state));
      case "delta":
        return this.#become(conversation.streamed(this.state, frame));
      case "status":
        return this.#become(conversation.statusChanged(this.state, frame));
      case "message":
        return this.#delivered(frame);
      case "error":
        return this.#failed(frame);
      default:
        return undefined; // A newer server may say more; what this page does not know it need not show.
    }
  }

  #delivered(frame) {
    const before = this.state;
    this.#become(conversation.delivered(before, frame));
    if (this.state === before) return;
    this.onAnswer(this, frame);
    const { entries } = this.state;
    const asked = !frame.replyTo || entries.some((entry) => entry.kind === "user" && entry.messageId === frame.replyTo);
    if (asked) return;
    // The question is one of ours that is not acknowledged yet, or was written in another window or device.
    this.#stale = true;
    if (!this.hasUnsent) this.#remember();
  }

  #failed(frame) {
    const fault = frame.error ?? frame;
    if (this.#outbox.has(frame.id)) this.#refuse(frame.id, fault);
    else this.onFault(fault);
  }

  #become(state) {
    this.state = state;
    this.onChange(this);
  }
}

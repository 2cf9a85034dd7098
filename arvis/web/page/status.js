/**
 * How the connection stands, and errors that belong to no message. A short loss shows only as a word in the header; one
 * that lasts gets a strip that lies over the conversation, so that nothing moves.
 */

import { sentences } from "./text.js";

const PATIENCE_MS = 2_000;
const WORDS = { connecting: "Connecting", ready: "Connected", waiting: "Reconnecting", refused: "Not admitted" };
const LOST = "No connection to Arvis. What you write is kept and sent as soon as it is back.";

export class Status {
  #fault = null;
  #link = { name: "connecting" };
  #lostAt = null;

  /**
   * @param {object} parts the elements `link words countdown notice noticeWords noticeAction`
   * @param {() => void} onRetry connect now
   */
  constructor(parts, onRetry) {
    Object.assign(this, { parts, onRetry });
    parts.noticeAction.addEventListener("click", () => this.#act());
    setInterval(() => this.#draw(), 1_000);
  }

  /** @param {{name: string, retryAt?: number}} link see connection.js */
  show(link) {
    this.#link = link;
    if (link.name === "ready") this.#lostAt = null;
    else this.#lostAt ??= Date.now();
    this.#draw();
  }

  /** @param {{message: string, fix?: string}} fault the server's own words */
  complain({ message, fix }) {
    this.#fault = sentences(message, fix);
    this.#draw();
  }

  #act() {
    if (this.#fault) this.#fault = null;
    else this.onRetry();
    this.#draw();
  }

  #draw() {
    const { name, retryAt } = this.#link;
    const { link, words, countdown, notice, noticeWords, noticeAction } = this.parts;
    const seconds = retryAt ? Math.max(0, Math.ceil((retryAt - Date.now()) / 1_000)) : 0;
    link.dataset.state = name;
    put(words, WORDS[name]);
    put(countdown, seconds > 0 ? ` in ${seconds} s` : "");
    const lost = this.#lostAt !== null && Date.now() - this.#lostAt > PATIENCE_MS;
    notice.hidden = !this.#fault && !lost;
    put(noticeWords, this.#fault ?? LOST);
    put(noticeAction, this.#fault ? "Dismiss" : "Try now");
  }
}

/** A live region is read out whenever it is written to, so the same words are not written twice. */
function put(element, words) {
  if (element.textContent !== words) element.textContent = words;
}

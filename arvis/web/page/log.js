/**
 * The messages on the screen. It draws at most once a frame, replaces only entries that have changed, follows the
 * newest message while the reader is at the end, and otherwise leaves the page where it is and counts what is new.
 */

import { firstOpen, speaker, streaming } from "./conversation.js";
import { make } from "./dom.js";
import { draw } from "./entry.js";
import { duration } from "./text.js";

const NEAR_END_PX = 80;
const SECONDS_AFTER_MS = 3_000;

export class Log {
  #drawn = new Map();
  #chat = null;
  #frame = 0;
  #behind = 0;
  #atEnd = true;

  /**
   * @param {object} parts the elements `scroller log empty emptyWords older activity newest`
   * @param {object} doing see entry.js
   */
  constructor(parts, doing) {
    Object.assign(this, { parts, doing });
    parts.scroller.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    parts.newest.addEventListener("click", () => this.toEnd());
    new ResizeObserver(() => this.#atEnd && this.toEnd()).observe(parts.scroller);
    setInterval(() => this.#chat && this.#showActivity(), 1_000);
  }

  /** Show another conversation from its end; `nameOf` gives an agent's name for its slug, or for none. */
  choose(chat, nameOf) {
    this.#chat = chat;
    this.nameOf = nameOf;
    this.#drawn.clear();
    this.parts.log.replaceChildren();
    this.parts.log.setAttribute("aria-live", "off");
    this.parts.emptyWords.textContent = `${nameOf(null)} answers here.`;
    this.#atEnd = true;
    this.#behind = 0;
    this.update();
  }

  update() {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw();
    });
  }

  toEnd() {
    this.parts.scroller.scrollTop = this.parts.scroller.scrollHeight;
    this.#caughtUp();
  }

  #draw() {
    const { entries, older } = this.#chat.state;
    const setting = { nameOf: this.nameOf, connected: this.#chat.link.name === "ready" };
    const fresh = this.#reconcile(entries, setting);
    this.parts.empty.hidden = entries.length > 0 || !this.#chat.loaded;
    this.parts.older.hidden = !older;
    this.#showActivity();
    if (this.#atEnd || fresh.some((entry) => entry.status === "sending")) this.toEnd();
    else this.#countBehind(fresh.filter((entry) => entry.kind === "agent").length);
    // The past is not read out; what comes from now on is.
    if (this.#chat.loaded) requestAnimationFrame(() => this.parts.log.setAttribute("aria-live", "polite"));
  }

  /** Make the log's children those of `entries`, touching only what differs; the entries that were not there. */
  #reconcile(entries, setting) {
    const fresh = [];
    const kept = new Set(entries.map((entry) => entry.key));
    for (const [key, { element }] of this.#drawn) {
      if (kept.has(key)) continue;
      element.remove();
      this.#drawn.delete(key);
    }
    let after = null;
    for (const entry of entries) {
      const before = this.#drawn.get(entry.key);
      const element = this.#element(entry, before, setting);
      if (!before) fresh.push(entry);
      const place = after ? after.nextSibling : this.parts.log.firstChild;
      if (element !== place) this.parts.log.insertBefore(element, place);
      after = element;
    }
    return fresh;
  }

  #element(entry, before, setting) {
    // Only a message that is being sent looks different without a connection.
    const connected = entry.status !== "sending" || setting.connected;
    if (before && before.entry === entry && before.connected === connected) return before.element;
    const drawn = draw(entry, this.doing, setting);
    const held = before?.element.contains(document.activeElement) ? document.activeElement.textContent : null;
    if (before) before.element.replaceWith(drawn);
    if (held) [...drawn.querySelectorAll("button")].find((button) => button.textContent === held)?.focus();
    this.#drawn.set(entry.key, { entry, element: drawn, connected });
    return drawn;
  }

  /** One line about the present, in a place that is always there so that nothing moves when it fills. */
  #showActivity() {
    const { state } = this.#chat;
    const waiting = firstOpen(state);
    const busy = waiting?.status === "working" || streaming(state);
    const seconds = waiting ? Date.now() - waiting.at : 0;
    const since = seconds > SECONDS_AFTER_MS ? ` · ${duration(Math.floor(seconds / 1_000) * 1_000)}` : "";
    const words = busy ? `${this.nameOf(speaker(state))} is working${since}` : "";
    if (this.parts.activity.textContent === words) return;
    const dots = make("span", { class: "dots", "aria-hidden": "true" }, make("i"), make("i"), make("i"));
    this.parts.activity.replaceChildren(...(busy ? [dots, words] : []));
  }

  #scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.parts.scroller;
    this.#atEnd = scrollHeight - scrollTop - clientHeight < NEAR_END_PX;
    if (this.#atEnd) this.#caughtUp();
  }

  #countBehind(count) {
    this.#behind += count;
    this.parts.newest.textContent = `${this.#behind} new`;
    this.parts.newest.hidden = this.#behind === 0;
  }

  #caughtUp() {
    this.#atEnd = true;
    this.#behind = 0;
    this.parts.newest.hidden = true;
  }
}

/**
 * Where the person writes: text, files, send and stop. A draft belongs to its conversation and outlives a reload; files
 * do not, as browsers give no page a second look at them. Limits are told before sending; the server's word is final.
 */

import { make } from "./dom.js";
import { reveal, size } from "./text.js";

/** The server's own limits as shipped (`limits` in the configuration): bytes of text, bytes and number of files. */
export const LIMITS = { text: 262_144, files: 20_971_520, count: 10 };

export class Composer {
  #files = [];
  #filesOf = new Map();
  #channel = "";

  /**
   * @param {object} parts the elements `form text chooser attach files complaint stop`
   * @param {object} options
   * @param {(draft: {text: string, files: object[]}) => void} options.onSend
   * @param {() => void} options.onStop
   * @param {Storage} options.drafts where drafts are kept
   */
  constructor(parts, { onSend, onStop, drafts }) {
    Object.assign(this, { parts, onSend, drafts });
    parts.form.addEventListener("submit", (event) => this.#submitted(event));
    parts.text.addEventListener("keydown", (event) => this.#key(event));
    parts.text.addEventListener("input", () => this.#edited());
    parts.text.addEventListener("paste", (event) => this.#offered(event, event.clipboardData));
    parts.form.addEventListener("dragover", (event) => event.preventDefault());
    parts.form.addEventListener("drop", (event) => this.#offered(event, event.dataTransfer));
    parts.attach.addEventListener("click", () => parts.chooser.click());
    parts.chooser.addEventListener("change", () => this.#chosen());
    parts.stop.addEventListener("click", onStop);
  }

  /** Turn to a conversation and the draft it has. */
  choose(channel, agentName) {
    this.#channel = channel;
    this.#files = this.#filesOf.get(channel) ?? [];
    this.#filesOf.set(channel, this.#files);
    this.#showFiles();
    this.parts.text.placeholder = agentName ? `Write to ${reveal(agentName)}` : "Write a message";
    this.write(this.drafts.getItem(`draft ${channel}`) ?? "");
  }

  /** Put a text in place of the present one. */
  write(text) {
    this.parts.text.value = text;
    this.#edited();
  }

  focus() {
    this.parts.text.focus();
  }

  set working(working) {
    this.parts.stop.hidden = !working;
  }

  complain(words) {
    this.parts.complaint.textContent = words;
  }

  #key(event) {
    // While an input method composes a word, Enter belongs to it.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    this.parts.form.requestSubmit();
  }

  #submitted(event) {
    event.preventDefault();
    const text = this.parts.text.value.trim();
    if (!text && this.#files.length === 0) return;
    const bytes = new TextEncoder().encode(text).length;
    if (bytes > LIMITS.text) {
      const limit = size(LIMITS.text);
      this.complain(`This text is ${size(bytes)}; a message may have ${limit}. Shorten it or attach it as a file.`);
      return;
    }
    this.onSend({ text, files: this.#files.splice(0) });
    this.#showFiles();
    this.write("");
    this.focus();
  }

  #edited() {
    const { text } = this.parts;
    this.complain("");
    if (text.value) this.drafts.setItem(`draft ${this.#channel}`, text.value);
    else this.drafts.removeItem(`draft ${this.#channel}`);
    // The height follows the text up to the style sheet's limit; scripts may set it under the page's policy.
    text.style.height = "auto";
    text.style.height = `${text.scrollHeight}px`;
  }

  #offered(event, transfer) {
    if (!transfer?.files.length) return;
    event.preventDefault();
    this.#take([...transfer.files]);
  }

  #chosen() {
    this.#take([...this.parts.chooser.files]);
    this.parts.chooser.value = ""; // so that the same file can be chosen again
  }

  async #take(files) {
    const taken = this.#files; // of the conversation that is shown now, even if another one is by the end
    this.complain("");
    for (const file of files) {
      const total = taken.reduce((sum, { size: bytes }) => sum + bytes, file.size);
      if (taken.length === LIMITS.count) {
        this.complain(`A message may carry ${LIMITS.count} files. Send the others in a second one.`);
      } else if (total > LIMITS.files) {
        this.complain(`${reveal(file.name)} does not fit: a message may carry ${size(LIMITS.files)} of files in all.`);
      } else {
        await this.#read(file, taken);
      }
    }
    this.focus();
  }

  async #read(file, taken) {
    try {
      const data = await base64(file);
      const contentType = file.type || "application/octet-stream";
      taken.push({ filename: file.name || "file", contentType, size: file.size, data });
      this.#showFiles();
    } catch {
      this.complain(`${reveal(file.name)} could not be read. It may have been moved or changed; choose it again.`);
    }
  }

  #showFiles() {
    const items = this.#files.map((file) => {
      const name = reveal(file.filename);
      const remove = make("button", { type: "button", class: "quiet", "aria-label": `Remove ${name}` }, "Remove");
      remove.addEventListener("click", () => {
        this.#files.splice(this.#files.indexOf(file), 1);
        this.#showFiles();
        this.focus();
      });
      return make("li", {}, make("bdi", {}, name), ` · ${size(file.size)}`, remove);
    });
    this.parts.files.replaceChildren(...items);
  }
}

/** The bytes of a file as base64; rejects when the file cannot be read. */
function base64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(reader.result.slice(reader.result.indexOf(",") + 1)));
    reader.addEventListener("error", () => reject(reader.error));
    reader.readAsDataURL(file);
  });
}

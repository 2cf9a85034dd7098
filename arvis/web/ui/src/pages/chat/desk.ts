/**
 * What somebody writes in one conversation: text and files. The text outlives a reload; files do not, as browsers give no page a
 * second look at them.
 */

import { reveal } from "../../words/format";
import { texts } from "./texts";
import { objection, type Upload, upload } from "./uploads";

export type Draft = { text: string; files: readonly Upload[]; complaint: string };

export class Desk {
  draft: Draft;
  #listeners = new Set<() => void>();

  constructor(readonly channel: string) {
    this.draft = { text: sessionStorage.getItem(`draft ${channel}`) ?? "", files: [], complaint: "" };
  }

  subscribe = (changed: () => void): (() => void) => {
    this.#listeners.add(changed);
    return () => void this.#listeners.delete(changed);
  };

  write(text: string): void {
    if (text === "") sessionStorage.removeItem(`draft ${this.channel}`);
    else sessionStorage.setItem(`draft ${this.channel}`, text);
    this.#become({ text, complaint: "" });
  }

  complain(complaint: string): void {
    this.#become({ complaint });
  }

  /** One after the other; what does not fit is told and left out. */
  async take(files: readonly File[]): Promise<void> {
    this.complain("");
    for (const file of files) {
      const problem = objection(file, this.draft.files);
      if (problem !== null) this.complain(problem);
      else {
        try {
          const taken = await upload(file);
          this.#become({ files: [...this.draft.files, taken] });
        } catch {
          this.complain(texts.unreadable(reveal(file.name)));
        }
      }
    }
  }

  put(uploads: readonly Upload[]): void {
    this.#become({ files: [...this.draft.files, ...uploads] });
  }

  remove(file: Upload): void {
    this.#become({ files: this.draft.files.filter((one) => one !== file) });
  }

  /** Empty it, for what was in it has been sent. */
  clear(): void {
    this.write("");
    this.#become({ files: [] });
  }

  #become(change: Partial<Draft>): void {
    this.draft = { ...this.draft, ...change };
    for (const changed of this.#listeners) changed();
  }
}

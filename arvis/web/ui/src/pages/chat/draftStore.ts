/**
 * The draft of one conversation: text and files. The text survives a reload; files do not, because browsers do not let a page
 * read them again.
 */

import { reveal } from "../../words/format";
import { texts } from "./texts";
import { objection, type Upload, upload } from "./uploads";

export type Draft = { text: string; files: readonly Upload[]; complaint: string };

export class DraftStore {
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

  /** Add files one by one; a file that does not fit is reported and left out. */
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

  /** Clear the draft after it was sent. */
  clear(): void {
    this.write("");
    this.#become({ files: [] });
  }

  #become(change: Partial<Draft>): void {
    this.draft = { ...this.draft, ...change };
    for (const changed of this.#listeners) changed();
  }
}

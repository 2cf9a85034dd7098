/**
 * The draft of one conversation: text and files. The text survives a reload; files do not, because browsers do not let a page
 * read them again.
 */

import { base64 } from "../../api/client";
import { bytes, reveal } from "../../words/format";
import type { Quotation } from "./entries";
import { texts } from "./texts";

/** `answered` is the message that the draft answers. */
export type Draft = { text: string; files: readonly Upload[]; answered: Quotation | null; complaint: string };

export class DraftStore {
  draft: Draft;
  #listeners = new Set<() => void>();

  constructor(readonly channel: string) {
    this.draft = { text: sessionStorage.getItem(`draft ${channel}`) ?? "", files: [], answered: null, complaint: "" };
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

  answer(answered: Quotation | null): void {
    this.#become({ answered });
  }

  /** Clear the draft after it was sent. */
  clear(): void {
    this.write("");
    this.#become({ files: [], answered: null });
  }

  #become(change: Partial<Draft>): void {
    this.draft = { ...this.draft, ...change };
    for (const changed of this.#listeners) changed();
  }
}

/** The server's default limits (`limits` in the configuration); the server has the final decision. */
export const LIMITS = { text: 262_144, files: 20_971_520, count: 10 };

/** `data` is base64; `url` is a blob of this page, for files that can be shown or played. */
export type Upload = { name: string; contentType: string; size: number; data: string; url: string | null };

const SHOWN = /^(image|audio)\//;

/** The reason why a file cannot be added, as text; `null`: it can. */
function objection(file: File, taken: readonly Upload[]): string | null {
  if (taken.length >= LIMITS.count) return texts.tooMany(LIMITS.count);
  const total = taken.reduce((sum, { size }) => sum + size, file.size);
  return total > LIMITS.files ? texts.tooLarge(reveal(file.name), bytes(LIMITS.files)) : null;
}

/** Read a file. Rejects if it cannot be read. */
export async function upload(file: File): Promise<Upload> {
  const data = await base64(file);
  const contentType = file.type || "application/octet-stream";
  const url = SHOWN.test(contentType) ? URL.createObjectURL(file) : null;
  return { name: file.name || "file", contentType, size: file.size, data, url };
}

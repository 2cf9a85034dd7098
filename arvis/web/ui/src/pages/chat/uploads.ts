/** Files of a message, read into memory, and the limits that are checked before sending. */

import { bytes, reveal } from "../../words/format";
import { texts } from "./texts";

/** The server's default limits (`limits` in the configuration); the server has the final decision. */
export const LIMITS = { text: 262_144, files: 20_971_520, count: 10 };

/** `data` is base64; `url` is a blob of this page, for files that can be shown or played. */
export type Upload = { name: string; contentType: string; size: number; data: string; url: string | null };

const SHOWN = /^(image|audio)\//;

/** The reason why a file cannot be added, as text; `null`: it can. */
export function objection(file: File, taken: readonly Upload[]): string | null {
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

function base64(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => {
      const address = String(reader.result);
      resolve(address.slice(address.indexOf(",") + 1));
    });
    reader.addEventListener("error", () => reject(reader.error));
    reader.readAsDataURL(file);
  });
}

/**
 * Messages that the server has not acknowledged. The browser stores them until then, so that they outlive a reload, a closed tab and a
 * crash; sent again with the same id, each arrives once.
 */

import type { Frame } from "../../api/connection";
import type { Place } from "./past";
import type { Upload } from "./uploads";

type Attachment = { filename: string; contentType: string; data: string; voice?: boolean };
export type Outgoing = Frame & { id: string; content: string; attachments?: Attachment[] };
export type Unsent = { frame: Outgoing; at: number };

const NAME = "arvis";
const TABLE = "outbox";

export class Outbox {
  /** Of one person in one place. */
  constructor(
    readonly userId: string,
    readonly place: Place,
  ) {}

  /** Store a message. Rejects where the browser stores nothing, as in some private windows. */
  async put(unsent: Unsent): Promise<void> {
    await run("readwrite", (table) => table.put({ ...unsent, key: this.#key(unsent.frame.id) }));
  }

  async remove(id: string): Promise<void> {
    await run("readwrite", (table) => table.delete(this.#key(id))).catch(() => undefined);
  }

  /** What was stored here and never acknowledged, the oldest first. */
  async unsent(): Promise<Unsent[]> {
    const range = IDBKeyRange.bound(this.#key(""), this.#key("\uffff"));
    const found = await run("readonly", (table) => table.getAll(range)).catch(() => []);
    return (found as Unsent[]).sort((one, other) => one.at - other.at);
  }

  #key(id: string): string {
    return [this.userId, this.place.channel, this.place.thread, id].join("\n");
  }
}

/** The places in which this person has unsent messages. */
export async function unsentPlaces(userId: string): Promise<Place[]> {
  const range = IDBKeyRange.bound(`${userId}\n`, `${userId}\n\uffff`);
  const keys = await run("readonly", (table) => table.getAllKeys(range)).catch(() => []);
  const places = keys.map((key) => String(key).split("\n").slice(1, 3).join("\n"));
  return [...new Set(places)].map((place) => {
    const [channel = "", thread = ""] = place.split("\n");
    return { channel, thread };
  });
}

/** Delete the stored messages of everybody on this browser: for a logout, and for another person at the same screen. */
export async function clearOutboxes(): Promise<void> {
  await run("readwrite", (table) => table.clear()).catch(() => undefined);
}

/** The files of a stored message as the composer holds them. */
export function uploadsOf({ attachments }: Outgoing): Upload[] {
  return (attachments ?? []).map(({ filename, contentType, data }) => {
    const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
    const shown = /^(image|audio)\//.test(contentType);
    const url = shown ? URL.createObjectURL(new Blob([bytes], { type: contentType })) : null;
    return { name: filename, contentType, size: bytes.length, data, url };
  });
}

async function run<T>(mode: IDBTransactionMode, act: (table: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const database = await opened();
  try {
    return await new Promise<T>((resolve, reject) => {
      const transaction = database.transaction(TABLE, mode);
      const request = act(transaction.objectStore(TABLE));
      transaction.addEventListener("complete", () => resolve(request.result));
      transaction.addEventListener("abort", () => reject(transaction.error));
    });
  } finally {
    database.close();
  }
}

function opened(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(NAME, 1);
    request.addEventListener("upgradeneeded", () => request.result.createObjectStore(TABLE, { keyPath: "key" }));
    request.addEventListener("success", () => resolve(request.result));
    request.addEventListener("error", () => reject(request.error));
  });
}

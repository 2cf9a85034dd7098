/**
 * Unacknowledged messages. The browser stores them, so that they survive a reload, a closed tab and a crash; each is resent
 * with the same id and arrives once.
 */

import { randomId } from "../../api/client";
import type { Frame } from "../../api/connection";
import type { Upload } from "./draftStore";
import type { Place } from "./past";

type Attachment = { filename: string; contentType: string; data: string; voice?: boolean };
export type Outgoing = Frame & { id: string; content: string; attachments?: Attachment[]; replyTo?: string };
export type Unsent = { frame: Outgoing; at: number };

const NAME = "arvis";
const TABLE = "outbox";

export class Outbox {
  #held = new Map<string, { frame: Outgoing; uploads: readonly Upload[] }>();
  /** Ids of messages that the browser could not store. */
  #volatile = new Set<string>();

  /** The messages of one person in one channel. */
  constructor(
    readonly userId: string,
    readonly place: Place,
  ) {}

  get size(): number {
    return this.#held.size;
  }

  /** True if a message would be lost if the page is closed. */
  get atRisk(): boolean {
    return this.#volatile.size > 0;
  }

  get(id: string): { frame: Outgoing; uploads: readonly Upload[] } | undefined {
    return this.#held.get(id);
  }

  /** Store a message until it is settled. Some private windows store nothing; then it stays at risk. */
  hold(frame: Outgoing, uploads: readonly Upload[], at: number): void {
    const { id } = frame;
    this.#held.set(id, { frame, uploads });
    this.#volatile.add(id);
    void run("readwrite", (table) => table.put({ frame, at, key: this.#key(id) })).then(
      () => {
        this.#volatile.delete(id);
        if (!this.#held.has(id)) this.#drop(id); // the server was faster
      },
      () => undefined,
    );
  }

  /** The server accepted or refused the message. */
  settle(id: string): void {
    this.#held.delete(id);
    this.#volatile.delete(id);
    this.#drop(id);
  }

  /** The message with the most data. */
  largest(): Outgoing | undefined {
    const weight = ({ content, attachments = [] }: Outgoing) =>
      attachments.reduce((sum, { data }) => sum + data.length, content.length);
    return [...this.#held.values()].map(({ frame }) => frame).sort((one, other) => weight(other) - weight(one))[0];
  }

  /** Load messages that an earlier page stored here and never settled, oldest first. */
  async restore(): Promise<Unsent[]> {
    const range = IDBKeyRange.bound(this.#key(""), this.#key("\uffff"));
    const found = (await run("readonly", (table) => table.getAll(range)).catch(() => [])) as Unsent[];
    for (const { frame } of found) this.#held.set(frame.id, { frame, uploads: uploadsOf(frame) });
    return found.sort((one, other) => one.at - other.at);
  }

  #drop(id: string): void {
    void run("readwrite", (table) => table.delete(this.#key(id))).catch(() => undefined);
  }

  #key(id: string): string {
    return [this.userId, this.place.channel, this.place.thread, id].join("\n");
  }
}

/** The channels in which this person has unsent messages. */
export async function unsentPlaces(userId: string): Promise<Place[]> {
  const range = IDBKeyRange.bound(`${userId}\n`, `${userId}\n\uffff`);
  const keys = await run("readonly", (table) => table.getAllKeys(range)).catch(() => []);
  const places = keys.map((key) => String(key).split("\n").slice(1, 3).join("\n"));
  return [...new Set(places)].map((place) => {
    const [channel = "", thread = ""] = place.split("\n");
    return { channel, thread };
  });
}

/** Delete the stored messages of all users in this browser: after a logout, or when another person logs in. */
export async function clearOutboxes(): Promise<void> {
  await run("readwrite", (table) => table.clear()).catch(() => undefined);
}

/** The frame of a new message. `replyTo` is the id of the message that it answers. */
export function outgoing(words: string, uploads: readonly Upload[], replyTo: string | null, voice: boolean): Outgoing {
  const attachments = uploads.map(({ name, contentType, data }) => ({
    filename: name,
    contentType,
    data,
    ...(voice && { voice }),
  }));
  const more = { ...(attachments.length > 0 && { attachments }), ...(replyTo !== null && { replyTo }) };
  return { type: "message", id: randomId(), content: words, ...more };
}

/** The files of a stored message as the composer holds them. */
function uploadsOf({ attachments }: Outgoing): Upload[] {
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

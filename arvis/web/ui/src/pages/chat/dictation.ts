/**
 * Speech recognition by the browser: its partial transcripts go to the server's stream buffer, which turns them into
 * messages. A chunk is kept until its message is acknowledged, and resent after a lost connection.
 */

import { randomId } from "../../api/client";
import type { Frame } from "../../api/connection";

type Alternative = { transcript: string };
type Result = { isFinal: boolean; 0: Alternative };
type ResultEvent = { resultIndex: number; results: ArrayLike<Result> };
export type Recogniser = {
  lang: string;
  continuous: boolean;
  interimResults: boolean;
  onresult: ((event: ResultEvent) => void) | null;
  onend: (() => void) | null;
  onerror: ((event: { error: string }) => void) | null;
  start: () => void;
  stop: () => void;
};
type Kind = new () => Recogniser;

/** The browser's speech recognition, or `null`. */
export function recogniser(): Kind | null {
  const offered = window as unknown as { SpeechRecognition?: Kind; webkitSpeechRecognition?: Kind };
  return offered.SpeechRecognition ?? offered.webkitSpeechRecognition ?? null;
}

type Heard = { listening: boolean; words: string; problem: string };

export class Dictation {
  heard: Heard = { listening: false, words: "", problem: "" };
  #unsent = new Map<string, Frame>();
  #recogniser: Recogniser | null = null;
  #listeners = new Set<() => void>();
  readonly #send: (frame: Frame) => boolean;

  constructor(send: (frame: Frame) => boolean) {
    this.#send = send;
  }

  subscribe = (changed: () => void): (() => void) => {
    this.#listeners.add(changed);
    return () => void this.#listeners.delete(changed);
  };

  get hasUnsent(): boolean {
    return this.#unsent.size > 0;
  }

  start(Kind: Kind, language: string): void {
    const current = new Kind();
    Object.assign(current, { lang: language, continuous: true, interimResults: true });
    current.onresult = (event) => this.#said(event);
    current.onerror = ({ error }) => this.#become({ problem: error === "no-speech" ? "" : error });
    current.onend = () => {
      this.#recogniser = null;
      // Stopping means that the person has finished.
      if (this.hasUnsent) this.#keep({ type: "speech", chunkId: randomId(), text: "", complete: true });
      this.#become({ listening: false, words: "" });
    };
    this.#recogniser = current;
    this.#become({ listening: true, words: "", problem: "" });
    current.start();
  }

  stop(): void {
    this.#recogniser?.stop();
  }

  /** Resend unacknowledged chunks: each chunk counts once. */
  resend(): void {
    for (const frame of this.#unsent.values()) this.#send(frame);
  }

  /** True if this receipt was for our chunks. */
  acknowledged(frame: Frame): boolean {
    if (!Array.isArray(frame.chunkIds)) return false;
    for (const id of frame.chunkIds) this.#unsent.delete(String(id));
    return true;
  }

  /** The server refused these chunks: resending them would be refused again. */
  refused(frame: Frame): void {
    this.acknowledged(frame);
  }

  #said({ resultIndex, results }: ResultEvent): void {
    let words = "";
    for (let index = resultIndex; index < results.length; index += 1) {
      const result = results[index];
      if (result === undefined) continue;
      if (result.isFinal) this.#chunk(result[0].transcript.trim());
      else words += result[0].transcript;
    }
    this.#become({ words });
  }

  #chunk(words: string): void {
    if (words !== "") this.#keep({ type: "speech", chunkId: randomId(), text: words });
  }

  #keep(frame: Frame & { chunkId: string }): void {
    this.#unsent.set(frame.chunkId, frame);
    this.#send(frame);
  }

  #become(change: Partial<Heard>): void {
    this.heard = { ...this.heard, ...change };
    for (const changed of this.#listeners) changed();
  }
}

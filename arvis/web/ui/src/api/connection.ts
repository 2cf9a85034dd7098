/**
 * The socket to one channel. It reconnects by itself, resumes after the last delivery seen, and passes frames on without
 * interpreting them. It stores no messages: the caller must resend a frame that could not be sent, with the same id.
 */

export type Frame = { type: string } & Record<string, unknown>;

export type Link =
  | { name: "connecting" }
  | { name: "ready" }
  | { name: "waiting"; retryAt: number; code: number }
  | { name: "refused"; code: number };

export type Listener = {
  /** Fields of the `auth` frame, computed at each connection because `lastSeq` changes. */
  hello: () => Record<string, unknown>;
  onFrame: (frame: Frame) => void;
  onReady: (greeting: Frame) => void;
  onLink: (link: Link) => void;
};

const FIRST_DELAY_MS = 500;
/** A restart takes seconds, so the first attempts follow quickly; during a longer outage they become rarer. */
const RESTART_DELAY_MS = 2_000;
const RESTART_TRIES = 30;
const LONGEST_DELAY_MS = 30_000;
const PING_MS = 30_000;
const SILENCE_MS = 10_000;
const WRONG_KEY = 4001;

/**
 * Return the delay in ms before attempt number `failures` (from 0), with 20 % jitter so that pages do not reconnect at the
 * same moment.
 */
export function backOff(failures: number): number {
  const longest = failures < RESTART_TRIES ? RESTART_DELAY_MS : LONGEST_DELAY_MS;
  return Math.min(FIRST_DELAY_MS * 2 ** failures, longest) * (0.9 + 0.2 * Math.random());
}

export class Connection {
  ready = false;
  #socket: WebSocket | null = null;
  #failures = 0;
  #timers = { retry: 0, ping: 0, silence: 0 };
  #begun = false;
  #closed = false;
  readonly #listener: Listener;

  constructor(listener: Listener) {
    this.#listener = listener;
  }

  open(): void {
    if (this.#closed || this.#socket !== null) return;
    this.#begun = true;
    window.clearTimeout(this.#timers.retry);
    this.#listener.onLink({ name: "connecting" });
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws`);
    this.#socket = socket;
    socket.addEventListener("open", () => socket.send(JSON.stringify({ type: "auth", ...this.#listener.hello() })));
    socket.addEventListener("message", (event) => this.#received(JSON.parse(event.data)));
    socket.addEventListener("close", (event) => this.#lost(socket, event.code));
  }

  /** Connect now instead of waiting for the next attempt. Does nothing before `open` or while connected. */
  retryNow(): void {
    if (this.#begun) this.open();
  }

  /** Send a frame. Return false if there is no connection; then the frame was not sent. */
  send(frame: Frame): boolean {
    if (!this.ready || this.#socket === null) return false;
    this.#socket.send(JSON.stringify(frame));
    return true;
  }

  close(): void {
    this.#closed = true;
    this.#stopTimers();
    this.#socket?.close();
  }

  #received(frame: Frame): void {
    if (this.#closed) return;
    window.clearTimeout(this.#timers.silence);
    if (frame.type === "auth_ok") {
      this.ready = true;
      this.#failures = 0;
      this.#timers.ping = window.setInterval(() => this.#ping(), PING_MS);
      this.#listener.onLink({ name: "ready" });
      this.#listener.onReady(frame);
    } else if (frame.type !== "pong") {
      this.#listener.onFrame(frame);
    }
  }

  #ping(): void {
    this.send({ type: "ping" });
    // After a laptop's sleep or a network change, the socket may look open. A missing pong means that it is dead; the close
    // event of a dead connection may take minutes, so the page does not wait for it.
    window.clearTimeout(this.#timers.silence);
    const socket = this.#socket;
    this.#timers.silence = window.setTimeout(() => {
      socket?.close();
      this.#lost(socket, 1006);
    }, SILENCE_MS);
  }

  #lost(socket: WebSocket | null, code: number): void {
    if (socket !== this.#socket) return;
    this.#socket = null;
    this.ready = false;
    this.#stopTimers();
    if (this.#closed) return;
    if (code === WRONG_KEY) {
      this.#listener.onLink({ name: "refused", code });
      return;
    }
    const delay = backOff(this.#failures);
    this.#failures += 1;
    this.#timers.retry = window.setTimeout(() => this.open(), delay);
    this.#listener.onLink({ name: "waiting", retryAt: Date.now() + delay, code });
  }

  #stopTimers(): void {
    window.clearInterval(this.#timers.ping);
    window.clearTimeout(this.#timers.retry);
    window.clearTimeout(this.#timers.silence);
  }
}

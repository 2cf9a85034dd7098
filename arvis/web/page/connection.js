/**
 * The socket to one channel (docs: the socket of the public interfaces). It stays connected by itself, resumes after
 * the last delivery seen, and never decides what a frame means: it hands frames on. It keeps no message, so a
 * frame that could not be sent is the caller's to send again with the same id.
 */

const FIRST_DELAY_MS = 1_000;
const LONGEST_DELAY_MS = 30_000;
const PING_MS = 30_000;
const SILENCE_MS = 10_000;
const WRONG_KEY = 4001;

/** Milliseconds before try number `failures` (from 0): one second, doubled each time, thirty at most. */
export const backOff = (failures) => Math.min(FIRST_DELAY_MS * 2 ** failures, LONGEST_DELAY_MS);

export class Connection {
  #socket = null;
  #failures = 0;
  #timers = { retry: 0, ping: 0, silence: 0 };
  #begun = false;
  #closed = false;

  /**
   * @param {object} options
   * @param {string} options.url address of the socket
   * @param {() => object} options.hello fields of the `auth` frame, asked at each connection as `lastSeq` moves
   * @param {(frame: object) => void} options.onFrame everything the server says after the greeting and pongs
   * @param {(greeting: object) => void} options.onReady connected and recognised
   * @param {(state: {name: string, retryAt?: number, code?: number}) => void} options.onState
   *   `connecting`, `ready`, `waiting` (with `retryAt`, and the close `code`) or `refused`
   */
  constructor({ url, hello, onFrame, onReady, onState }) {
    Object.assign(this, { url, hello, onFrame, onReady, onState });
    this.ready = false;
  }

  open() {
    if (this.#closed || this.#socket) return;
    this.#begun = true;
    clearTimeout(this.#timers.retry);
    this.onState({ name: "connecting" });
    const socket = new WebSocket(this.url);
    this.#socket = socket;
    socket.addEventListener("open", () => socket.send(JSON.stringify({ type: "auth", ...this.hello() })));
    socket.addEventListener("message", (event) => this.#received(JSON.parse(event.data)));
    socket.addEventListener("close", (event) => this.#lost(socket, event.code));
  }

  /** Connect now instead of waiting for the next try; does nothing before `open` or while a connection is up. */
  retryNow() {
    if (this.#begun) this.open();
  }

  /** Send a frame; false when there is no connection, and then it was not sent. */
  send(frame) {
    if (!this.ready) return false;
    this.#socket.send(JSON.stringify(frame));
    return true;
  }

  close() {
    this.#closed = true;
    this.#stopTimers();
    this.#socket?.close();
  }

  #received(frame) {
    clearTimeout(this.#timers.silence);
    if (frame.type === "auth_ok") {
      this.ready = true;
      this.#failures = 0;
      this.#timers.ping = setInterval(() => this.#ping(), PING_MS);
      this.onState({ name: "ready" });
      this.onReady(frame);
    } else if (frame.type !== "pong") {
      this.onFrame(frame);
    }
  }

  #ping() {
    this.send({ type: "ping" });
    // A sleeping laptop or a changed network leaves a socket that looks open: no answer means it is gone, and
    // the close event of a dead peer may take minutes, so it is not awaited.
    clearTimeout(this.#timers.silence);
    const socket = this.#socket;
    this.#timers.silence = setTimeout(() => {
      socket.close();
      this.#lost(socket, 1006);
    }, SILENCE_MS);
  }

  #lost(socket, code) {
    if (socket !== this.#socket) return;
    this.#socket = null;
    this.ready = false;
    this.#stopTimers();
    if (this.#closed) return;
    if (code === WRONG_KEY) {
      this.onState({ name: "refused", code });
      return;
    }
    const delay = backOff(this.#failures);
    this.#failures += 1;
    this.#timers.retry = setTimeout(() => this.open(), delay);
    this.onState({ name: "waiting", retryAt: Date.now() + delay, code });
  }

  #stopTimers() {
    clearInterval(this.#timers.ping);
    clearTimeout(this.#timers.retry);
    clearTimeout(this.#timers.silence);
  }
}

/**
 * How many answers came while nobody looked: the number in front of the title.
 */

const TITLE = "Arvis";

export class Unread {
  #counts = new Map();

  /** An answer came; it is read at once when its conversation is on the screen and the page is seen. */
  came(channelId, shown) {
    if (shown && !document.hidden) return;
    this.#counts.set(channelId, (this.#counts.get(channelId) ?? 0) + 1);
    this.#show();
  }

  /** The person looks at a conversation. */
  looked(channelId) {
    if (document.hidden) return;
    this.#counts.delete(channelId);
    this.#show();
  }

  #show() {
    const count = [...this.#counts.values()].reduce((sum, some) => sum + some, 0);
    document.title = count > 0 ? `(${count}) ${TITLE}` : TITLE;
  }
}

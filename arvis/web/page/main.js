/**
 * Puts the page together: who is logged in, which agent is chosen (the address says so), and which parts are told about
 * what. It holds no rule of its own about messages (conversation.js) or about the connection (connection.js).
 */

import { Agents } from "./agents.js";
import * as api from "./api.js";
import { Chat } from "./chat.js";
import { Composer } from "./composer.js";
import { firstOpen, streaming } from "./conversation.js";
import { past } from "./history.js";
import { Log } from "./log.js";
import { Status } from "./status.js";
import { reveal, sentences } from "./text.js";
import { Timeline } from "./timeline.js";
import { Unread } from "./unread.js";

const at = (id) => document.getElementById(id);

/** Elements by the names that a part gives them: `{text: "text"}` → `{text: <textarea>}`. */
const parts = (names) => Object.fromEntries(Object.entries(names).map(([name, id]) => [name, at(id)]));
const socketUrl = () => `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws`;
const fragment = () => new URLSearchParams(location.hash.slice(1));

const NOT_SIGNED_IN = "You are not signed in on this device.";

class Page {
  #chats = new Map();
  #user = null;
  #lastUser = null;
  #current = null;

  constructor() {
    this.agents = new Agents(at("agents"));
    this.unread = new Unread();
    this.timeline = new Timeline(parts({
      dialog: "timeline", title: "timeline-title", body: "timeline-body", close: "timeline-close",
    }));
    this.status = new Status(
      parts({
        link: "link", words: "link-words", countdown: "countdown",
        notice: "notice", noticeWords: "notice-words", noticeAction: "notice-action",
      }),
      () => this.#reconnect(),
    );
    this.log = new Log(
      parts({
        scroller: "scroller", log: "log", empty: "empty", emptyWords: "empty-words",
        older: "older", activity: "activity", newest: "newest",
      }),
      {
        why: (messageId) => this.timeline.show(messageId),
        again: (entry) => this.composer.write(this.#current.withdraw(entry)),
        click: (buttonId, data) => this.#current.click(buttonId, data),
      },
    );
    this.composer = new Composer(
      parts({
        form: "composer", text: "text", chooser: "chooser", attach: "attach",
        files: "files", complaint: "complaint", stop: "stop",
      }),
      { onSend: (draft) => this.#current.send(draft), onStop: () => this.#current.stop(), drafts: sessionStorage },
    );
  }

  listen() {
    addEventListener("hashchange", () => this.start());
    addEventListener("online", () => this.#reconnect());
    addEventListener("beforeunload", (event) => {
      // Text that never reached the server would be gone; the browser asks the person first.
      if ([...this.#chats.values()].some((chat) => chat.hasUnsent)) event.preventDefault();
    });
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) return;
      if (!this.#user) return void this.start(); // Perhaps signed in through another window meanwhile.
      this.unread.looked(this.#current.channelId);
      this.#reconnect();
    });
  }

  /** Sign in with the code in the address, if there is one; then show the agent that the address names. */
  async start() {
    const refused = await this.#signIn();
    try {
      if (!this.#user) await this.#meet();
    } catch (error) {
      this.#showSignedOut(refused ?? error);
      return;
    }
    at("signed-out").hidden = true;
    at("signed-in").hidden = false;
    this.#choose(this.agents.find(fragment().get("agent")));
    this.#reconnect();
  }

  async #meet() {
    const user = await api.me();
    this.agents.known = await api.agents();
    if (user.userId !== this.#lastUser) {
      // Somebody else at the same screen must not find what the one before has read or written.
      for (const chat of this.#chats.values()) chat.connection.close();
      this.#chats.clear();
    }
    this.#user = user;
    this.#lastUser = user.userId;
  }

  /** The error when the code is no good: an old link opened again is no reason to lose a session that holds. */
  async #signIn() {
    const code = fragment().get("login");
    if (!code) return null;
    // The code leaves the address bar and the history before anything else can fail.
    history.replaceState(null, "", location.pathname);
    try {
      await api.login(code);
    } catch (error) {
      return error;
    }
    this.#user = null;
    return null;
  }

  #choose(agent) {
    const channelId = agent.slug === null ? this.#user.channelId : `dashboard-agent-${agent.slug}`;
    at("agent-name").textContent = reveal(agent.name);
    at("agent-about").textContent = reveal(agent.description);
    this.#current = this.#chats.get(channelId) ?? this.#opened(channelId, agent);
    this.unread.looked(channelId);
    this.log.choose(this.#current, (slug) => this.agents.nameOf(slug, agent));
    this.composer.choose(channelId, agent.slug === null ? null : agent.name);
    this.agents.show(agent);
    this.#changed(this.#current);
    this.status.show(this.#current.link);
    this.composer.focus();
  }

  #opened(channelId, agent) {
    const chat = new Chat({
      channelId,
      url: socketUrl(),
      past: () => past({ channelId, agent: agent.slug, thread: this.#thread(channelId) }),
      onChange: (changed) => this.#changed(changed),
      onLink: (changed) => this.#linkChanged(changed),
      onAnswer: (answered) => this.unread.came(answered.channelId, answered === this.#current),
      onFault: (fault) => this.status.complain(fault),
    });
    this.#chats.set(channelId, chat);
    chat.open();
    return chat;
  }

  /** In the channel of an agent everybody but owners and operators has a thread of their own. */
  #thread(channelId) {
    const { role, userId } = this.#user;
    return role === "owner" || role === "operator" || channelId === this.#user.channelId ? "" : userId;
  }

  #changed(chat) {
    if (chat !== this.#current) return;
    this.log.update();
    const working = Boolean(firstOpen(chat.state)) || streaming(chat.state);
    this.composer.working = working && chat.link.name === "ready";
  }

  #linkChanged(chat) {
    if (chat === this.#current) this.status.show(chat.link);
    if (chat.link.name === "waiting" || chat.link.name === "refused") this.#checkSession();
  }

  /** A browser does not say why a socket was refused, so a lost one asks whether the session has ended. */
  async #checkSession() {
    try {
      await api.me();
    } catch (error) {
      if (error.signedOut) this.#showSignedOut(error);
    }
  }

  #reconnect() {
    for (const chat of this.#chats.values()) chat.connection.retryNow();
  }

  #showSignedOut(error) {
    at("signed-in").hidden = true;
    at("signed-out").hidden = false;
    this.#user = null;
    const expected = error.code === "no_credential";
    at("signed-out-why").textContent = expected ? NOT_SIGNED_IN : sentences(error.message, error.fix);
  }
}

const page = new Page();
page.listen();
page.start();

/**
 * The conversations that are open in this window. They stay open while other pages are shown, so that no unsent message is
 * lost and answers are counted.
 */

import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useEffect, useSyncExternalStore } from "react";
import { useLive } from "../../api/live";
import { type Me, useSession } from "../../api/session";
import { setUnread } from "../../frame/title";
import { Chat } from "./chat";
import { DraftStore } from "./draftStore";
import { unsentPlaces } from "./outbox";
import type { Place } from "./past";

export class Chats {
  #chats = new Map<string, Chat>();
  #drafts = new Map<string, DraftStore>();
  #shown = new Set<string>();
  #listeners = new Set<() => void>();
  unread: ReadonlyMap<string, number> = new Map();

  constructor(readonly userId: string) {
    void unsentPlaces(userId).then((places) => {
      for (const place of places) this.at(place);
    });
    addEventListener("beforeunload", (event) => {
      // Text that never reached the server would be lost, so the browser asks the person first.
      if ([...this.#chats.values()].some((chat) => chat.hasUnsent)) event.preventDefault();
    });
    addEventListener("online", () => this.retry());
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) return;
      for (const channel of this.#shown) this.#looked(channel);
      this.retry();
    });
  }

  at(place: Place, agent: string | null = null): Chat {
    const key = keyOf(place);
    let chat = this.#chats.get(key);
    if (chat === undefined) {
      chat = new Chat(place, this.userId, { onAnswer: (answered) => this.#came(answered.place.channel) });
      this.#chats.set(key, chat);
      void chat.open();
    }
    chat.agent = agent ?? chat.agent;
    return chat;
  }

  isOpen(place: Place): boolean {
    return this.#chats.has(keyOf(place));
  }

  drafts(channel: string): DraftStore {
    let drafts = this.#drafts.get(channel);
    if (drafts === undefined) {
      drafts = new DraftStore(channel);
      this.#drafts.set(channel, drafts);
    }
    return drafts;
  }

  /** Mark this conversation as visible until the returned function is called. */
  show(channel: string): () => void {
    this.#shown.add(channel);
    this.#looked(channel);
    return () => void this.#shown.delete(channel);
  }

  retry(): void {
    for (const chat of this.#chats.values()) chat.retry();
  }

  subscribe = (changed: () => void): (() => void) => {
    this.#listeners.add(changed);
    return () => void this.#listeners.delete(changed);
  };

  /** An answer arrived; it counts as read if its conversation is visible. */
  #came(channel: string): void {
    if (this.#shown.has(channel) && !document.hidden) return;
    this.#count(channel, (this.unread.get(channel) ?? 0) + 1);
  }

  #looked(channel: string): void {
    if (!document.hidden) this.#count(channel, 0);
  }

  #count(channel: string, count: number): void {
    if ((this.unread.get(channel) ?? 0) === count) return;
    this.unread = new Map([...this.unread, [channel, count]]);
    setUnread([...this.unread.values()].reduce((sum, some) => sum + some, 0));
    for (const changed of this.#listeners) changed();
  }
}

const keyOf = ({ channel, thread }: Place): string => `${channel}\n${thread}`;

const halls = new WeakMap<QueryClient, Chats>();

export function useChats(): Chats {
  const client = useQueryClient();
  const { me } = useSession();
  let chats = halls.get(client);
  if (chats === undefined) {
    chats = new Chats(me.userId);
    halls.set(client, chats);
  }
  const { link } = useLive();
  const ready = link.name === "ready";
  useEffect(() => {
    if (ready) halls.get(client)?.retry(); // the server is back: connect without waiting for the next attempt
  }, [ready, client]);
  return chats;
}

export function useUnread(chats: Chats): ReadonlyMap<string, number> {
  return useSyncExternalStore(chats.subscribe, () => chats.unread);
}

/** No specific agent: the daemon's routing decides who answers. */
export const ANYONE = "-";

/** The address of these conversations, side by side. */
export function addressOf(slugs: readonly string[]): string {
  const [only] = slugs;
  if (only === undefined || (slugs.length === 1 && only === ANYONE)) return "/chat";
  return `/chat/${slugs.map(encodeURIComponent).join(",")}`;
}

/** The address of a branch: another channel, in which this agent answers. */
export const addressOfBranch = (agent: string, channel: string): string =>
  `${addressOf([agent])}?channel=${encodeURIComponent(channel)}`;

/** The channel in which this person chats with an agent. */
export function placeOf(me: Me, agent: string): Place {
  if (agent === ANYONE) return { channel: me.channelId, thread: "" };
  const everywhere = me.role === "owner" || me.role === "operator";
  return { channel: `dashboard-agent-${agent}`, thread: everywhere ? "" : me.userId };
}

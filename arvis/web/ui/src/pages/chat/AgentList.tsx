import { Columns2 } from "lucide-react";
import { useEffect, useRef } from "react";
import { Link } from "wouter";
import { useApi } from "../../api/hooks";
import { useMay, useSession } from "../../api/session";
import { UntrustedText } from "../../parts/show";
import { reveal } from "../../words/format";
import type { Agent } from "./agents";
import styles from "./chat.module.css";
import { addressOf, type Chats, placeOf, useUnread } from "./chats";
import type { Place } from "./past";
import { texts } from "./texts";

type Props = { agents: readonly Agent[]; chosen: readonly string[]; chats: Chats; mayOpenBeside: boolean };

/** All agents that the user can chat with, with their unread answers. */
export function AgentList({ agents, chosen, chats, mayOpenBeside }: Props) {
  const { me } = useSession();
  const unread = useUnread(chats);
  // An open conversation counts its own answers, and it knows of them earlier than the list of conversations.
  const isRead = (slug: string) => {
    const place = placeOf(me, slug);
    return chosen.includes(slug) || (chats.isOpen(place) && !unread.get(place.channel));
  };
  const hasNews = useNews(agents.filter(({ slug }) => isRead(slug)).map(({ slug }) => placeOf(me, slug)));
  const list = useRef<HTMLUListElement>(null);
  const current = chosen[0];
  useEffect(() => {
    // On a phone the list is a row that may be wider than the screen.
    if (current !== undefined) {
      list.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
  }, [current]);
  return (
    <nav className={styles.agents} aria-label={texts.agents}>
      <ul ref={list}>
        {agents.map((agent) => {
          const place = placeOf(me, agent.slug);
          const shown = chosen.includes(agent.slug);
          const count = unread.get(place.channel) ?? 0;
          return (
            <li key={agent.slug}>
              <Link
                href={addressOf([agent.slug])}
                className={styles.agent}
                aria-current={shown ? "page" : undefined}
                title={reveal(agent.description)}
              >
                <UntrustedText text={agent.name} className={styles.agentName} />
                {count > 0 && <Mark words={texts.unread(count)}>{count}</Mark>}
                {count === 0 && !isRead(agent.slug) && hasNews(place) && <Mark words={texts.newHere} />}
              </Link>
              {mayOpenBeside && !shown && (
                <Link
                  href={addressOf([...chosen, agent.slug])}
                  className={styles.beside}
                  aria-label={texts.beside(reveal(agent.name))}
                  title={texts.beside(reveal(agent.name))}
                >
                  <Columns2 aria-hidden />
                </Link>
              )}
            </li>
          );
        })}
      </ul>
    </nav>
  );
}

function Mark({ words, children }: { words: string; children?: number }) {
  return (
    <span className={children === undefined ? styles.dot : styles.badge}>
      <span aria-hidden>{children}</span>
      <span className="hidden">{words}</span>
    </span>
  );
}

const KEY = "arvis.seen";
const NEWEST = 100;

type Seen = { since: number; places: Record<string, number> };

const keyOf = ({ channel, thread }: Place): string => `${channel}\n${thread}`;

/** Return whether a conversation has news. `read` is remembered as read; answers before the first visit do not count. */
function useNews(read: readonly Place[]): (place: Place) => boolean {
  const live = useMay("viewer"); // others get no change notices
  const found = useApi("GET /api/conversations", live ? { query: { platform: "web", limit: NEWEST } } : null);
  const newest: Record<string, number> = {};
  for (const talk of found.data?.items ?? []) {
    const key = keyOf({ channel: talk.channelId, thread: talk.thread });
    newest[key] = Math.max(newest[key] ?? 0, talk.lastMessageAt);
  }
  const looked = JSON.stringify(read.map((place) => [keyOf(place), newest[keyOf(place)] ?? 0]));
  useEffect(() => {
    const seen = stored();
    for (const [key, at] of JSON.parse(looked) as [string, number][]) seen.places[key] = at;
    localStorage.setItem(KEY, JSON.stringify(seen));
  }, [looked]);
  const seen = stored();
  return (place) => (newest[keyOf(place)] ?? 0) > (seen.places[keyOf(place)] ?? seen.since);
}

function stored(): Seen {
  try {
    const seen = JSON.parse(localStorage.getItem(KEY) ?? "") as Seen;
    if (typeof seen.since === "number" && typeof seen.places === "object") return seen;
  } catch {
    // nothing is stored yet, or another person stored it
  }
  return { since: Date.now(), places: {} };
}

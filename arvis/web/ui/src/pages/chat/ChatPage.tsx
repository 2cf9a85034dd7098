import { Columns2 } from "lucide-react";
import { useEffect, useMemo, useRef } from "react";
import { Link, useLocation, useRoute, useSearch } from "wouter";
import { useApi } from "../../api/hooks";
import { useMay, useSession } from "../../api/session";
import { useTitle } from "../../frame/title";
import { UntrustedText } from "../../parts/show";
import { Empty, Failure } from "../../parts/states";
import { usePhone } from "../../parts/table";
import { reveal } from "../../words/format";
import { type Agent, useAgents } from "./agents";
import { Column } from "./Column";
import styles from "./chat.module.css";
import { ANYONE, addressOf, type Chats, placeOf, useChats, useUnread } from "./chats";
import type { Place } from "./past";
import { texts } from "./texts";

/** The largest number of conversations side by side. */
const MOST_COLUMNS = 4;

/** The chat: the list of agents, and one conversation or several side by side (`/chat/helper,writer`). */
export default function ChatPage() {
  const [, parameters] = useRoute("/chat/:agents?");
  const [, navigate] = useLocation();
  const agents = useAgents();
  const chats = useChats();
  const { me } = useSession();
  const named = parameters?.agents ?? ANYONE;
  const chosen = useMemo(() => [...new Set(named.split(",").map(decoded))].slice(0, MOST_COLUMNS), [named]);
  const branch = new URLSearchParams(useSearch()).get("channel");
  const phone = usePhone() || branch !== null;
  const shown = phone ? chosen.slice(0, 1) : chosen;
  const known = shown.filter((slug) => agents.find(slug) !== undefined);
  useTitle(known.map((slug) => reveal(agents.nameOf(slug))).join(", ") || texts.title);
  const mayWrite = useMay("operator") || me.role === "chat";
  const close = (slug: string) => navigate(addressOf(chosen.filter((one) => one !== slug)));
  return (
    <div className={styles.page}>
      <h1 className="hidden">{texts.title}</h1>
      <AgentList
        agents={agents.all.filter((agent) => !agent.paused || shown.includes(agent.slug))}
        chosen={shown}
        chats={chats}
        mayOpenBeside={!phone && chosen.length < MOST_COLUMNS}
      />
      {agents.error && <Failure error={agents.error} retry={agents.retry} />}
      <div className={styles.columns}>
        {agents.loaded &&
          shown.map((slug) => {
            const agent = agents.find(slug);
            if (agent === undefined) return <Empty why={texts.goneWords} key={slug} title={texts.gone} />;
            const place = branch === null ? placeOf(me, slug) : { channel: branch, thread: "" };
            return (
              <Column
                key={place.channel}
                agent={agent}
                chat={chats.at(place, branch === null ? null : slug)}
                drafts={chats.drafts(place.channel)}
                chats={chats}
                nameOf={agents.nameOf}
                mayWrite={mayWrite}
                isBranch={branch !== null}
                onClose={shown.length > 1 ? () => close(slug) : null}
              />
            );
          })}
      </div>
    </div>
  );
}

function decoded(slug: string): string {
  try {
    return decodeURIComponent(slug);
  } catch {
    return slug;
  }
}

type Props = { agents: readonly Agent[]; chosen: readonly string[]; chats: Chats; mayOpenBeside: boolean };

/** All agents that the user can chat with, with their unread answers. */
function AgentList({ agents, chosen, chats, mayOpenBeside }: Props) {
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

/**
 * One socket for the whole dashboard: it reports changes, and the displayed data is reloaded. Nothing is polled.
 * Conversations in the chat have their own sockets.
 */

import { useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, useContext, useEffect, useMemo, useRef, useState } from "react";
import { Connection, type Frame, type Link } from "./connection";
import { readAgain } from "./hooks";
import { useMay, useSession } from "./session";

/** The figures of the top bar. */
export type Counts = {
  running: number;
  waiting: number;
  failed: number;
  costTodayUsd: number;
  budgetTodayUsd: number | null;
};

type Live = {
  link: Link;
  counts: Counts | null;
  /** Connect now. */
  retry: () => void;
  /** Receive every frame, such as notices about one conversation. Returns a function that unsubscribes. */
  listen: (hear: (frame: Frame) => void) => () => void;
  /** Watch a further topic, such as `conversation:ID`. Returns a function that unsubscribes. */
  watch: (topic: string) => () => void;
};

const LiveContext = createContext<Live | null>(null);

export function useLive(): Live {
  const live = useContext(LiveContext);
  if (live === null) throw new Error("useLive outside of LiveProvider");
  return live;
}

/** All topics that a page may show. Most topics are the second part of an API address, such as `jobs` of `/api/jobs`. */
export const TOPICS = [
  ...["accounts", "agents", "backups", "bots", "clients", "conversations", "deliveries", "evaluations", "executions"],
  ...[
    "jobs",
    "keys",
    "knowledge",
    "memory",
    "messages",
    "notifications",
    "overview",
    "people",
    "projects",
    "questions",
    "schedules",
    "settings",
  ],
  ...["skills", "summaries", "users", "variables", "webhooks", "workflows"],
];

/** By topic: the other topics whose data is also reloaded when this topic changes. */
const ALSO: Record<string, string[]> = {
  accounts: ["models", "names", "setup"],
  agents: ["knowledge", "names", "setup"],
  bots: ["notifications", "setup"],
  summaries: ["conversations"],
  evaluations: ["suites"],
  executions: ["activity", "schedules", "projects", "runs"],
  jobs: ["activity", "executions", "schedules"],
  messages: ["conversations", "questions"],
  people: ["pairings", "erasures"],
  schedules: ["names"],
  settings: ["names", "setup", "tool-servers"],
  users: ["auth"],
  questions: ["runs"],
  webhooks: ["names"],
  workflows: ["names", "runs"],
};

/** The topics whose data is reloaded when this topic changes. */
export const topicsOf = (topic: string): string[] => [topic, ...(ALSO[topic] ?? [])];

export function LiveProvider({ children }: { children: ReactNode }) {
  const { me, refresh } = useSession();
  const mayWatch = useMay("viewer");
  const client = useQueryClient();
  const [link, setLink] = useState<Link>({ name: "connecting" });
  const [counts, setCounts] = useState<Counts | null>(null);
  const listeners = useRef(new Set<(frame: Frame) => void>());
  const watched = useRef(new Map<string, number>());
  const connection = useRef<Connection | null>(null);

  useEffect(() => {
    let lost = false;
    const current = new Connection({
      hello: () => ({ channelId: me.channelId }),
      onLink: (next) => {
        setLink(next);
        // A browser does not report why a socket was refused, so after a loss check whether the login has ended.
        if (next.name === "waiting" || next.name === "refused") refresh();
      },
      onReady: () => {
        if (mayWatch) current.send({ type: "watch", topics: [...TOPICS, ...watched.current.keys()] });
        if (lost) void client.invalidateQueries(); // notices may have been missed
        lost = true;
      },
      onFrame: (frame) => {
        if (frame.type === "counts") setCounts(frame as unknown as Counts);
        if (frame.type === "changed") {
          for (const topic of topicsOf(String(frame.topic))) void readAgain(client, topic);
        }
        for (const hear of listeners.current) hear(frame);
      },
    });
    connection.current = current;
    current.open();
    const wake = () => {
      if (!document.hidden) current.retryNow();
    };
    document.addEventListener("visibilitychange", wake);
    window.addEventListener("online", wake);
    return () => {
      document.removeEventListener("visibilitychange", wake);
      window.removeEventListener("online", wake);
      current.close();
    };
  }, [me.channelId, mayWatch, client, refresh]);

  const live = useMemo<Live>(
    () => ({
      link,
      counts,
      retry: () => connection.current?.retryNow(),
      listen: (hear) => {
        listeners.current.add(hear);
        return () => void listeners.current.delete(hear);
      },
      watch: (topic) => {
        const held = watched.current.get(topic) ?? 0;
        watched.current.set(topic, held + 1);
        if (held === 0) connection.current?.send({ type: "watch", topics: [topic] });
        return () => {
          const left = (watched.current.get(topic) ?? 1) - 1;
          if (left > 0) watched.current.set(topic, left);
          else {
            watched.current.delete(topic);
            connection.current?.send({ type: "unwatch", topics: [topic] });
          }
        };
      },
    }),
    [link, counts],
  );
  return <LiveContext value={live}>{children}</LiveContext>;
}

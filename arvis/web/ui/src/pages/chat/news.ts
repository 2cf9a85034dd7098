/** The conversations with answers that this browser has not shown yet. */

import { useEffect } from "react";
import { useApi } from "../../api/hooks";
import { useMay } from "../../api/session";
import type { Place } from "./past";

const KEY = "arvis.seen";
const NEWEST = 100;

type Seen = { since: number; places: Record<string, number> };

const keyOf = ({ channel, thread }: Place): string => `${channel}\n${thread}`;

/** Return whether a conversation has news. `read` is remembered as read; answers before the first visit do not count. */
export function useNews(read: readonly Place[]): (place: Place) => boolean {
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

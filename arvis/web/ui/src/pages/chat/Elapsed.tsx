import { useEffect, useState } from "react";
import { duration } from "../../words/format";

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

type Props = { since: number; after?: number; words: (time: string) => string };

/** The elapsed time, updated every second; nothing before `after` ms. */
export function Elapsed({ since, after = 0, words }: Props) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = window.setInterval(() => setNow(Date.now()), SECOND_MS / 2);
    return () => window.clearInterval(timer);
  }, []);
  const elapsed = Math.max(0, now - since);
  if (elapsed < after) return null;
  return words(elapsed < MINUTE_MS ? `${Math.floor(elapsed / SECOND_MS)} s` : duration(elapsed));
}

/** One run, live. Its events only report that something changed; the page then loads the data. */

import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { ApiError, addressOf, call } from "../../../api/client";
import { readAgain } from "../../../api/hooks";
import type { LogLine, RunDetail } from "../workflow";
import { isAtWork } from "./runState";

/** The delay between two reloads of a fast run, in ms. */
const PACE_MS = 100;
const LINES = 200;
const MOST_LINES = 2_000;
const EVENTS = ["log", "state", "done", "error"];

/** While a run is running, its event stream is open; the socket reports changes of a waiting run. */
export function useRunEvents(run: RunDetail | undefined): void {
  const client = useQueryClient();
  const active = run !== undefined && isAtWork(run) ? run.id : null;
  const known = useRef(0);
  known.current = run?.logsTotal ?? 0;
  useEffect(() => {
    if (active === null) return;
    const request = { path: { run: active }, query: { after: known.current } };
    const source = new EventSource(addressOf("GET /api/runs/{run}/events", request));
    let timer = 0;
    const news = () => {
      if (timer !== 0) return;
      timer = window.setTimeout(() => {
        timer = 0;
        void readAgain(client, "runs");
      }, PACE_MS);
    };
    const onEvent = ({ type, data }: Event & { data?: unknown }) => {
      // An error event sent by the stream carries data; a lost connection does not, and the browser reconnects by itself.
      if (type === "done" || (type === "error" && data !== undefined)) source.close();
      news();
    };
    for (const name of EVENTS) source.addEventListener(name, onEvent);
    return () => {
      window.clearTimeout(timer);
      source.close();
    };
  }, [active, client]);
}

/** Lines after this one, several pages at once: rendering a long log costs more than loading a page. */
async function readLines(id: string, after: number, signal: AbortSignal): Promise<LogLine[]> {
  const found: LogLine[] = [];
  for (;;) {
    const request = { path: { run: id }, query: { after: found.at(-1)?.number ?? after, limit: LINES } };
    const { items, hasMore } = await call("GET /api/runs/{run}/log", request, { signal });
    found.push(...items);
    if (!hasMore || found.length >= MOST_LINES) return found;
  }
}

type Log = { lines: readonly LogLine[]; error: ApiError | null; retry: () => void };

/** The lines of a run; only new ones are loaded. */
export function useLog(run: Pick<RunDetail, "id" | "logsTotal">): Log {
  const [lines, setLines] = useState<readonly LogLine[]>([]);
  const [error, setError] = useState<ApiError | null>(null);
  const [tries, setTries] = useState(0);
  const last = lines.at(-1)?.number ?? 0;
  const { id, logsTotal } = run;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another try reads the same once more
  useEffect(() => {
    if (logsTotal <= last) return;
    const leaving = new AbortController();
    readLines(id, last, leaving.signal).then(
      (items) => {
        setError(null);
        setLines((before) => [...before, ...items.filter((one) => one.number > (before.at(-1)?.number ?? 0))]);
      },
      (problem: unknown) => {
        if (problem instanceof ApiError) setError(problem);
      },
    );
    return () => leaving.abort();
  }, [id, logsTotal, last, tries]);
  return { lines, error, retry: () => setTries((before) => before + 1) };
}

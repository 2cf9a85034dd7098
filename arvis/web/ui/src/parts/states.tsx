/** Placeholders for missing data: empty, loading, refused. */

import { type ReactNode, useContext, useEffect, useRef, useState } from "react";
import type { ApiError } from "../api/client";
import { sentences } from "../words/format";
import { Button } from "./button";
import styles from "./states.module.css";
import { texts } from "./texts";
import { RefusedContext } from "./unsaved";

type EmptyProps = { title: string; why?: ReactNode; action?: ReactNode };

/** An empty page: its purpose, and the button for the first step. */
export function Empty({ title, why, action }: EmptyProps) {
  return (
    <div className={styles.empty}>
      <h2>{title}</h2>
      {why && <p className="muted">{why}</p>}
      {action}
    </div>
  );
}

/** A refusal: the problem, the reason, and the fix. */
export function Failure({ error, retry }: { error: ApiError; retry?: () => void }) {
  const refused = useContext(RefusedContext);
  const shown = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (refused === null) return;
    refused();
    shown.current?.scrollIntoView({ block: "nearest" });
  }, [refused]);
  return (
    <div ref={shown} className={styles.failure} role="alert">
      <p>{sentences(error.message, error.fix)}</p>
      <p className="muted">
        <code>{error.code}</code>
      </p>
      {retry && <Button label={texts.tryAgain} onClick={retry} />}
    </div>
  );
}

/** Grey lines in place of the content, shown after 150 ms of loading. */
export function Skeleton({ lines = 5 }: { lines?: number }) {
  const [shown, setShown] = useState(false);
  useEffect(() => {
    const timer = window.setTimeout(() => setShown(true), 150);
    return () => window.clearTimeout(timer);
  }, []);
  if (!shown) return null;
  return (
    <div className={styles.skeleton} role="status" aria-label={texts.loading}>
      {Array.from({ length: lines }, (_, line) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines are all alike
        <div key={line} />
      ))}
    </div>
  );
}

export type Found<T> = { data: T | undefined; error: ApiError | null; refetch: () => unknown };

/** Show the data of `useApi`, or the reason why it is missing. */
export function Loaded<T>({ of, children }: { of: Found<T>; children: (data: T) => ReactNode }) {
  if (of.data !== undefined) return <>{children(of.data)}</>;
  if (of.error !== null) return <Failure error={of.error} retry={() => void of.refetch()} />;
  return <Skeleton />;
}

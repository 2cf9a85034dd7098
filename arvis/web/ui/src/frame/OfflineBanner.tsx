import { useEffect, useState } from "react";
import { useLive } from "../api/live";
import { Button } from "../parts/button";
import styles from "./frame.module.css";
import { texts } from "./texts";

const PATIENCE_MS = 2_000;

/** A banner about a lost connection. It appears after some time, because a short loss needs no banner. */
export function OfflineBanner() {
  const { link, retry } = useLive();
  const [lost, setLost] = useState(false);
  const ready = link.name === "ready";
  useEffect(() => {
    if (ready) {
      setLost(false);
      return;
    }
    const timer = window.setTimeout(() => setLost(true), PATIENCE_MS);
    return () => window.clearTimeout(timer);
  }, [ready]);
  return (
    <div role="status" className={lost ? styles.offline : "hidden"} data-link={link.name}>
      {lost && (
        <>
          <span>{texts.offline}</span>
          <Button label={texts.retryNow} kind="quiet" onClick={retry} />
        </>
      )}
    </div>
  );
}

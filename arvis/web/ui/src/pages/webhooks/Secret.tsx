import { useEffect, useRef } from "react";
import { Button } from "../../parts/button";
import { Code, CopyButton } from "../../parts/show";
import { texts } from "./texts";
import { exampleOf, type Webhook } from "./webhook";
import styles from "./webhooks.module.css";

/** The complete secret, shown once, and a call signed with it. */
export function Secret({ hook, onSeen }: { hook: Webhook; onSeen: () => void }) {
  const place = useRef<HTMLElement>(null);
  useEffect(() => {
    place.current?.scrollIntoView({ block: "nearest" });
  }, []);
  return (
    <section ref={place} className={styles.secret} aria-label={texts.secretTitle}>
      <h3>{texts.secretTitle}</h3>
      <p>{texts.secretWhy}</p>
      <p className={styles.address}>
        <code data-secret>{hook.secret}</code>
        <CopyButton text={hook.secret} label={texts.copySecret} />
      </p>
      <p>{texts.try}</p>
      <Code value={exampleOf(hook, window.location.origin)} label={texts.try} />
      <Button label={texts.understood} onClick={onSeen} />
    </section>
  );
}

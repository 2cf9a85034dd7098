import { useEffect, useRef } from "react";
import { Button } from "../../parts/button";
import { Code, CopyButton } from "../../parts/show";
import { texts } from "./texts";
import type { Webhook } from "./WebhooksPage";
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
      <Button onClick={onSeen}>{texts.understood}</Button>
    </section>
  );
}

/** A command that calls the web hook as its sender would. */
export function exampleOf(hook: Pick<Webhook, "preset" | "secret" | "url">, origin: string): string {
  const hash = (signed: string) => `$(printf %s "${signed}" | openssl dgst -sha256 -hmac "$secret" | sed 's/.*= //')`;
  const headers = {
    plain: [`-H "X-Webhook-Id: try-$(date +%s)"`, `-H "X-Webhook-Signature: sha256=${hash("$body")}"`],
    github: [`-H "X-GitHub-Delivery: try-$(date +%s)"`, `-H "X-Hub-Signature-256: sha256=${hash("$body")}"`],
    stripe: [`-H "Stripe-Signature: t=$time,v1=${hash("$time.$body")}"`],
  };
  return [
    `secret=${quoted(hook.secret)}`,
    `body='{"id": "try", "build": "broken"}'`,
    ...(hook.preset === "stripe" ? ["time=$(date +%s)"] : []),
    `curl -X POST ${quoted(`${origin}${hook.url}`)} \\`,
    ...headers[hook.preset].map((header) => `  ${header} \\`),
    `  --data-raw "$body"`,
  ].join("\n");
}

/** Quote text as one shell argument. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

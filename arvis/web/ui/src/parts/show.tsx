/** Values as text, each formatted in the same way everywhere. */

import { Check, Copy } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { Link } from "wouter";
import { ago, exactly, money, reveal } from "../words/format";
import { IconButton } from "./button";
import styles from "./show.module.css";
import { texts } from "./texts";

/** In place of a missing value. */
export const NOTHING = <span className="muted">–</span>;

/** A time: relative, and exact on hover. It updates by itself. */
export function Time({ at }: { at: number | null | undefined }) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = window.setInterval(() => setNow(Date.now()), 15_000);
    return () => window.clearInterval(timer);
  }, []);
  if (at === null || at === undefined) return NOTHING;
  return (
    <time dateTime={new Date(at).toISOString()} title={exactly(at)}>
      {ago(at, Math.max(now, Date.now()))}
    </time>
  );
}

export function Money({ usd }: { usd: number | null | undefined }) {
  return usd === null || usd === undefined ? NOTHING : money(usd);
}

/** A text of people or models: invisible characters are shown, and it cannot change the direction of its neighbours. */
export function UntrustedText({ text, className }: { text: string; className?: string }) {
  return <bdi className={className}>{reveal(text)}</bdi>;
}

/** A string as untrusted text; any other node unchanged. */
export function untrusted(node: ReactNode): ReactNode {
  return typeof node === "string" ? <UntrustedText text={node} /> : node;
}

/** A link to the item with this id, named by the id or by `words`; null without an id. */
export function linkTo(page: string, id: string | null | undefined, words?: ReactNode): ReactNode {
  if (!id) return null;
  return <Link href={`${page}/${encodeURIComponent(id)}`}>{words ?? <UntrustedText text={id} />}</Link>;
}

export type Tone = "good" | "warn" | "trouble" | "plain" | "accent";

/** A state: a word, a colour and a shape. */
export function Status({ tone, children }: { tone: Tone; children: string }) {
  return (
    <span className={`${styles.status} ${styles[tone]}`}>
      <span aria-hidden className={styles.dot} />
      {children}
    </span>
  );
}

/** JSON or plain text, unchanged, with a copy button. */
export function Code({ value, label }: { value: unknown; label?: string }) {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  return (
    <div className={styles.code}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre tabIndex={0} role="region" aria-label={label ?? texts.details}>
        {reveal(text)}
      </pre>
      <CopyButton text={text} />
    </div>
  );
}

export function CopyButton({ text, label = texts.copy }: { text: string; label?: string }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    await copyText(text);
    setDone(true);
    window.setTimeout(() => setDone(false), 2_000);
  };
  return <IconButton icon={done ? Check : Copy} label={done ? texts.copied : label} onClick={() => void copy()} />;
}

/** Copy a text. Browsers block the clipboard API on pages without TLS; `execCommand` works there. */
async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

/** A line of a change. A line with a space has not changed, and `skipped` replaces several such lines. */
export type ChangedLine = { sign: "+" | "-" | " " | "skipped"; text: string };

/** The lines of a change. The texts may be written by other people. */
export function ChangedLines({ lines, label }: { lines: readonly ChangedLine[]; label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <div className={styles.lines} role="region" aria-label={label} tabIndex={0}>
      {lines.map(({ sign, text }, index) => {
        const key = `${index} ${sign}`;
        if (sign === "-") return <del key={key}>{`− ${reveal(text)}`}</del>;
        if (sign === "+") return <ins key={key}>{`+ ${reveal(text)}`}</ins>;
        if (sign === " ") return <span key={key}>{`  ${reveal(text)}`}</span>;
        return (
          <span key={key} className="muted">
            {text}
          </span>
        );
      })}
    </div>
  );
}

export type Fact = [name: string, value: ReactNode];

/** Names and values as a list. Empty values are left out; a string may be written by other people. */
export function Facts({ of }: { of: readonly Fact[] }) {
  return (
    <dl className={styles.facts}>
      {of
        .filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{untrusted(value)}</dd>
          </div>
        ))}
    </dl>
  );
}

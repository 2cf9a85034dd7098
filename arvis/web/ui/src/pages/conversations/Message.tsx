import { memo } from "react";
import { Link } from "wouter";
import type { Item } from "../../api/types";
import { Markdown } from "../../parts/markdown";
import { Money, Status, type Tone, UntrustedText } from "../../parts/show";
import { reasonInWords } from "../../parts/steps";
import { clock, exactly, reveal, sentences } from "../../words/format";
import { Files } from "../chat/Files";
import styles from "./conversations.module.css";
import { texts } from "./texts";

export type Said = Item<"GET /api/conversations/{conversation}/messages">;

const TONES: Partial<Record<Said["status"], Tone>> = {
  failed: "trouble",
  dropped: "trouble",
  waiting: "warn",
  expired: "warn",
  running: "accent",
};
const UNSENT: ReadonlySet<string> = new Set(["pending", "sending", "failed", "unknown", "expired"]);

/** One message: author, time, files, and a link to its timeline. */
export const Message = memo(function Message({ said, agent }: { said: Said; agent: string }) {
  const byPerson = said.role === "user";
  return (
    <article className={byPerson ? styles.person : styles.agent} data-message={said.id}>
      <header className={styles.who}>
        <strong>
          <UntrustedText text={authorOf(said, agent)} />
        </strong>
        {said.role === "progress" && <span className="muted">{texts.progress}</span>}
        <time className="muted" dateTime={new Date(said.createdAt).toISOString()} title={exactly(said.createdAt)}>
          {clock(said.createdAt)}
        </time>
      </header>
      {said.content === "" ? <p className="muted">{texts.notText}</p> : <Markdown text={said.content} />}
      <Files files={filesOf(said)} />
      {said.attachments.map((file, number) =>
        file.problem === "" ? null : (
          // biome-ignore lint/suspicious/noArrayIndexKey: the files of a message never change their order
          <p key={number} className="muted">
            {texts.unread(reveal(file.filename), reveal(file.problem))}
          </p>
        ),
      )}
      <footer className={styles.foot}>
        {byPerson && <Status tone={TONES[said.status] ?? "plain"}>{texts.statuses[said.status]}</Status>}
        {said.reason !== null && TONES[said.status] !== undefined && (
          <span className="muted">{reveal(sentences(reasonInWords(said.reason)))}</span>
        )}
        {said.delivery !== null && UNSENT.has(said.delivery) && (
          <Status tone={said.delivery === "failed" ? "trouble" : "warn"}>{texts.deliveries[said.delivery]}</Status>
        )}
        {said.costUsd > 0 && (
          <span className="muted">
            <Money usd={said.costUsd} />
          </span>
        )}
        <Way said={said} />
      </footer>
    </article>
  );
});

function Way({ said }: { said: Said }) {
  const message = said.role === "user" ? said.id : said.replyTo;
  if (message !== null) return <Link href={`/messages/${message}`}>{texts.timeline}</Link>;
  return said.executionId === null ? null : <Link href={`/executions/${said.executionId}`}>{texts.run}</Link>;
}

function authorOf(said: Said, agent: string): string {
  if (said.role === "user") return said.userName || texts.unknown;
  return said.role === "notice" ? texts.arvis : (said.agent ?? agent);
}

const filesOf = (said: Said) => [
  ...said.attachments.map(({ filename, ...file }) => ({ ...file, name: filename })),
  ...said.files,
];

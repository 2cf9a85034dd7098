import { Mic } from "lucide-react";
import { memo } from "react";
import { Link } from "wouter";
import { useMay } from "../../api/session";
import { Button } from "../../parts/button";
import { Markdown } from "../../parts/markdown";
import { reasonInWords } from "../../parts/steps";
import { clock, exactly, reveal, sentences } from "../../words/format";
import type { Chat } from "./chat";
import { isOpen, type UserEntry } from "./conversation";
import type { Quotation } from "./entries";
import { Files } from "./Files";
import styles from "./log.module.css";
import { Quoted, replyTo } from "./Quoted";
import { Edit, Versions } from "./Rewind";
import { texts } from "./texts";

const TROUBLE: ReadonlySet<string> = new Set(["failed", "dropped", "expired"]);

/** A message of the user, its status, and the actions after a failure. */
export const UserMessage = memo(function UserMessage({
  entry,
  connected,
  again,
  onReply,
  chat,
  mayAct,
}: {
  entry: UserEntry;
  connected: boolean;
  again: (entry: UserEntry) => void;
  onReply: (quotation: Quotation) => void;
  chat: Chat;
  mayAct: boolean;
}) {
  const trouble = TROUBLE.has(entry.status);
  const id = entry.messageId;
  return (
    <article className={styles.user} data-kind="user" data-message={entry.messageId ?? undefined}>
      <div className={styles.bubble} data-bubble>
        <span className="hidden">{texts.you}: </span>
        {entry.quotations.map((quotation, number) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the quotations of a message never change their order
          <Quoted key={number} quotation={quotation} own />
        ))}
        {entry.voice && entry.text === "" && (
          <p className={styles.voice}>
            <Mic aria-hidden /> {texts.voiceSent}
          </p>
        )}
        {entry.text !== "" && <Markdown text={entry.text} />}
        <Files files={entry.files} />
      </div>
      <footer className={styles.footer}>
        <Moment at={entry.at} />
        <span className={trouble ? styles.trouble : undefined} data-status={entry.status}>
          {statusWords(entry, connected)}
        </span>
        {trouble && entry.messageId === null && (
          <Button label={texts.again} kind="quiet" onClick={() => again(entry)} />
        )}
        {id !== null && mayAct && entry.text !== "" && (
          <Button label={texts.reply} kind="quiet" onClick={() => onReply(replyTo(id, "sender", entry.text))} />
        )}
        {id !== null && mayAct && <Versions id={id} versions={entry.versions} chat={chat} />}
        {id !== null && mayAct && !isOpen(entry.status) && <Edit id={id} text={entry.text} chat={chat} />}
        {id !== null && <Why id={id} words={trouble ? texts.whyNot : texts.timeline} quiet={!trouble} />}
      </footer>
    </article>
  );
});

/** A link to the timeline of a message. */
export function Why({ id, words, quiet = false }: { id: string; words: string; quiet?: boolean }) {
  if (!useMay("viewer")) return null;
  return (
    <Link href={`/messages/${encodeURIComponent(id)}`} className={quiet ? styles.quietLink : undefined}>
      {words}
    </Link>
  );
}

/** A reason is a sentence of the server or a code; either is better than a plain "failed". */
function statusWords(entry: UserEntry, connected: boolean): string {
  const words = entry.status === "sending" && !connected ? texts.status.offline : texts.status[entry.status];
  const why = TROUBLE.has(entry.status) && entry.reason ? sentences(reasonInWords(entry.reason), entry.fix) : "";
  return `${words ?? reveal(entry.status)}${why && `: ${reveal(why)}`}`;
}

/** The time of day of a message, with the exact time on hover. */
export function Moment({ at }: { at: number }) {
  return (
    <time dateTime={new Date(at).toISOString()} title={exactly(at)}>
      {clock(at)}
    </time>
  );
}

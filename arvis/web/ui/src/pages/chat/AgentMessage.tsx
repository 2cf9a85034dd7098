import { memo, useDeferredValue, useState } from "react";
import { Link } from "wouter";
import { useApi } from "../../api/hooks";
import { useMay } from "../../api/session";
import { Button } from "../../parts/button";
import { Markdown } from "../../parts/markdown";
import { UntrustedText } from "../../parts/show";
import { reveal } from "../../words/format";
import type { Chat } from "./chat";
import type { AgentEntry, Choice } from "./conversation";
import type { Quotation } from "./entries";
import { Feedback } from "./Feedback";
import { Files } from "./Files";
import styles from "./log.module.css";
import { Question } from "./Question";
import { replyTo } from "./Quoted";
import { AnswerAgain, Branch } from "./Rewind";
import { texts } from "./texts";
import { Moment, Why } from "./UserMessage";
import { isWaitButton, type Wait, waitOf } from "./waits";

/** An agent's message, with its files, choices and questions. */
export const AgentMessage = memo(function AgentMessage({
  entry,
  name,
  chat,
  onReply,
  question,
  decided,
  mayAct,
}: {
  entry: AgentEntry;
  name: string;
  chat: Chat;
  onReply: (quotation: Quotation) => void;
  question: Wait | undefined;
  decided: boolean;
  mayAct: boolean;
}) {
  // A long answer is parsed again at every chunk; typing has priority.
  const text = useDeferredValue(entry.text);
  const about = entry.replyTo ?? entry.messageId;
  const buttons = question !== undefined || decided ? entry.buttons.filter((one) => !isWaitButton(one)) : entry.buttons;
  const rated = entry.final && !entry.aside && !entry.notice && mayAct ? entry.messageId : null;
  return (
    <article
      className={entry.notice ? `${styles.agent} ${styles.notice}` : styles.agent}
      data-kind="agent"
      data-notice={entry.notice || undefined}
      data-message={entry.messageId ?? undefined}
    >
      <p className={styles.name}>
        <UntrustedText text={name} />
        {entry.notice && <span className="muted"> {texts.notice}</span>}
      </p>
      {/* A stream is silent for screen readers; the finished text is read once. */}
      <div data-body aria-busy={entry.streaming || undefined} aria-live={entry.streaming ? "off" : undefined}>
        {question === undefined && !decided && <Markdown text={entry.streaming ? text : entry.text} />}
        {decided && <Decided wait={waitOf(entry) ?? ""} known={entry.question?.decision ?? null} text={entry.text} />}
        <Files files={entry.files} />
      </div>
      {question && <Question wait={question} />}
      {buttons.length > 0 && mayAct && <Choices choices={buttons} chat={chat} />}
      <footer className={styles.footer}>
        <Moment at={entry.at} />
        {rated && (
          <Button label={texts.reply} kind="quiet" onClick={() => onReply(replyTo(rated, "agent", entry.text))} />
        )}
        {rated && <Feedback reply={rated} ratings={entry.ratings} />}
        {rated && entry.replyTo !== null && <AnswerAgain id={rated} chat={chat} />}
        {rated && <Branch id={rated} />}
        {!entry.streaming && about !== null && <Why id={about} words={texts.why} quiet />}
      </footer>
    </article>
  );
});

/** A closed question with its decision, taken from the message or loaded from the question. */
function Decided({ wait, known, text }: { wait: string; known: string | null; text: string }) {
  const reads = useMay("viewer");
  const found = useApi("GET /api/questions/{question}", known === null && reads ? { path: { question: wait } } : null);
  const given = found.data?.answer as { decision?: string } | null | undefined;
  const decision = known ?? given?.decision ?? null;
  const words: Record<string, string> = texts.decisions;
  return (
    <>
      <p className="muted">
        {decision === null ? texts.questionDecided : (words[decision] ?? texts.questionDecided)}{" "}
        {reads && <Link href={`/questions/${wait}?state=answered`}>{texts.questionAnswer}</Link>}
      </p>
      <details>
        <summary>{texts.questionWas}</summary>
        <Markdown text={text} />
      </details>
    </>
  );
}

/** Buttons of a message; one choice is enough, so all are disabled after a click. */
function Choices({ choices, chat }: { choices: readonly Choice[]; chat: Chat }) {
  const [chosen, setChosen] = useState(false);
  return (
    <div className={styles.choices} role="group" aria-label={texts.choices}>
      {choices.map(({ id, label }) => (
        <Button label={reveal(label || id)} key={id} disabled={chosen} onClick={() => setChosen(chat.click(id))} />
      ))}
    </div>
  );
}

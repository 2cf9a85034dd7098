import { type HTMLAttributes, useLayoutEffect, useRef } from "react";
import { useApi } from "../../api/hooks";
import { ButtonLink } from "../../parts/button";
import { Raw } from "../../parts/raw";
import { ResourceSheet } from "../../parts/resource";
import { Code, Facts, linkTo, Time, UntrustedText } from "../../parts/show";
import { Summary } from "../../parts/timeline";
import { Decide } from "./Decide";
import styles from "./questions.module.css";
import { texts } from "./texts";
import { alreadyAnswered, headline, isTool, type Wait } from "./wait";

/** One question with its answer, or with the form to answer it. */
export function QuestionSheet({ id, onClose }: { id: string; onClose: () => void }) {
  const found = useApi("GET /api/questions/{question}", { path: { question: id } });
  return (
    <ResourceSheet of={found} texts={texts} title={headline} onClose={onClose}>
      {(wait) => (
        <>
          {wait.answeredAt !== null && <Summary>{alreadyAnswered(wait)}</Summary>}
          <What wait={wait} />
          <Decide wait={wait} keys onAnswered={() => void found.refetch()} />
          <Given wait={wait} />
          <Ways wait={wait} />
          <Raw title={texts.raw} value={wait} />
        </>
      )}
    </ResourceSheet>
  );
}

/** The text of the answer, if it has one. */
function Given({ wait }: { wait: Wait }) {
  const answer = (wait.answer ?? {}) as { note?: string | null; text?: string | null; arguments?: unknown };
  const { note, text, arguments: changed } = answer;
  return (
    <>
      {(note || text) && (
        <p className={styles.prompt}>
          <UntrustedText text={note || text || ""} />
        </p>
      )}
      {changed !== null && changed !== undefined && <Code value={changed} label={texts.newArguments} />}
    </>
  );
}

function Ways({ wait }: { wait: Wait }) {
  const runs = wait.workflowId === null ? "/executions" : `/workflows/${wait.workflowId}/runs`;
  return (
    <Facts
      of={[
        [texts.message, linkTo("/messages", wait.messageId)],
        [texts.run, linkTo(runs, wait.executionId)],
        [texts.conversation, linkTo("/conversations", wait.conversationId)],
        [texts.hash, wait.change && <code>{wait.change.hash}</code>],
      ]}
    />
  );
}

type Props = {
  wait: Wait;
  open: boolean;
  answered: boolean;
  onOpen: () => void;
  row: HTMLAttributes<HTMLElement> & { "data-index": number };
};

/**
 * An open question with all details for the decision. `open`: the detail beside the list shows them instead. `answered`: the
 * card shows no details but keeps its height.
 */
export function QuestionCard({ wait, open, answered, onOpen, row }: Props) {
  const card = useRef<HTMLElement>(null);
  const height = useRef(0);
  useLayoutEffect(() => {
    if (!answered) height.current = card.current?.offsetHeight ?? 0;
  });
  return (
    <article
      ref={card}
      className={`${styles.card} ${open ? styles.chosen : ""}`}
      style={answered ? { minHeight: height.current } : undefined}
      aria-label={headline(wait)}
      {...row}
    >
      <header className={styles.cardHead}>
        <h2>{headline(wait)}</h2>
        <div className={styles.ways}>
          {wait.workflowId !== null && (
            <ButtonLink
              label={texts.toRun}
              kind="quiet"
              href={`/workflows/${wait.workflowId}/runs/${wait.executionId}`}
            />
          )}
          <ButtonLink label={texts.details} kind="quiet" href={`/questions/${wait.id}`} />
        </div>
      </header>
      {answered && <p className="muted">{texts.isAnswered}</p>}
      {!open && !answered && <What wait={wait} />}
      {!open && !answered && <Decide wait={wait} onAnswered={onOpen} />}
    </article>
  );
}

/** The agent, the person it works for, the exact action, its risk, and the deadline. */
function What({ wait }: { wait: Wait }) {
  return (
    <>
      {wait.risk !== null && (
        <p className={styles.risk} data-risk={wait.risk}>
          <span className="muted">{texts.risk}:</span> {texts.risks[wait.risk]}
        </p>
      )}
      {isTool(wait) && <Code value={wait.arguments ?? {}} label={texts.arguments} />}
      {!isTool(wait) && (
        <p className={styles.prompt}>
          <UntrustedText text={wait.change?.text ?? wait.prompt} />
        </p>
      )}
      <Facts
        of={[
          [texts.forWhom, wait.person],
          [texts.place, wait.platform && `${wait.platform} · ${wait.channelId ?? ""}`],
          [texts.askedAt, <Time key="asked" at={wait.askedAt} />],
          [texts.deadline, wait.answeredAt === null ? <Deadline key="until" wait={wait} /> : null],
        ]}
      />
    </>
  );
}

function Deadline({ wait }: { wait: Wait }) {
  if (wait.expiresAt === null) return texts.noDeadline;
  return (
    <span title={texts.expiry}>
      <Time at={wait.expiresAt} />
    </span>
  );
}

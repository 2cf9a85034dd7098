import { type HTMLAttributes, useLayoutEffect, useRef } from "react";
import { ButtonLink } from "../../parts/button";
import { Code, Facts, Time, UntrustedText } from "../../parts/show";
import { Decide } from "./Decide";
import styles from "./questions.module.css";
import { texts } from "./texts";
import { headline, isTool, type Wait } from "./wait";

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
export function What({ wait }: { wait: Wait }) {
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

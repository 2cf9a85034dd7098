import type { ReactNode } from "react";
import { Link } from "wouter";
import { useApi } from "../../api/hooks";
import { Sheet } from "../../parts/page";
import { Raw } from "../../parts/raw";
import { Code, Facts, UntrustedText } from "../../parts/show";
import { Empty, Loaded } from "../../parts/states";
import { Summary } from "../../parts/timeline";
import { Decide } from "./Decide";
import { What } from "./QuestionCard";
import styles from "./questions.module.css";
import { texts } from "./texts";
import { alreadyAnswered, headline, type Wait } from "./wait";

const NOT_FOUND = 404;

/** One question with its answer, or with the form to answer it. */
export function QuestionSheet({ id, onClose }: { id: string; onClose: () => void }) {
  const wait = useApi("GET /api/questions/{question}", { path: { question: id } });
  return (
    <Sheet title={wait.data === undefined ? "" : headline(wait.data)} onClose={onClose}>
      {wait.error?.status === NOT_FOUND ? (
        <Empty title={texts.gone}>{texts.goneWords}</Empty>
      ) : (
        <Loaded of={wait}>
          {(data) => (
            <>
              {data.answeredAt !== null && <Summary>{alreadyAnswered(data)}</Summary>}
              <What wait={data} />
              <Decide wait={data} keys onAnswered={() => void wait.refetch()} />
              <Given wait={data} />
              <Ways wait={data} />
              <Raw title={texts.raw} value={data} />
            </>
          )}
        </Loaded>
      )}
    </Sheet>
  );
}

/** The text of the answer, if it has one. */
function Given({ wait }: { wait: Wait }) {
  const {
    note,
    text,
    arguments: changed,
  } = (wait.answer ?? {}) as {
    note?: string | null;
    text?: string | null;
    arguments?: unknown;
  };
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
  const ways: [string, string, string | null][] = [
    [texts.message, "/messages", wait.messageId],
    [texts.run, wait.workflowId === null ? "/executions" : `/workflows/${wait.workflowId}/runs`, wait.executionId],
    [texts.conversation, "/conversations", wait.conversationId],
  ];
  const facts: [string, ReactNode][] = ways.map(([name, page, id]) => [
    name,
    id && (
      <Link href={`${page}/${id}`}>
        <UntrustedText text={id} />
      </Link>
    ),
  ]);
  return <Facts of={[...facts, [texts.hash, wait.change && <code>{wait.change.hash}</code>]]} />;
}

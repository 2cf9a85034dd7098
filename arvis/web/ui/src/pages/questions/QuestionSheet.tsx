import { useApi } from "../../api/hooks";
import { Raw } from "../../parts/raw";
import { ResourceSheet } from "../../parts/resource";
import { Code, Facts, linkTo, UntrustedText } from "../../parts/show";
import { Summary } from "../../parts/timeline";
import { Decide } from "./Decide";
import { What } from "./QuestionCard";
import styles from "./questions.module.css";
import { texts } from "./texts";
import { alreadyAnswered, headline, type Wait } from "./wait";

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

import { X } from "lucide-react";
import { useState } from "react";
import { Link } from "wouter";
import { useApi, useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import { AskButton, sends } from "../../parts/actions";
import { ButtonLink } from "../../parts/button";
import { Markdown } from "../../parts/markdown";
import { Raw } from "../../parts/raw";
import { ResourceSheet } from "../../parts/resource";
import { Code, type Fact, Facts, linkTo, Money, Time, UntrustedText } from "../../parts/show";
import { Loaded } from "../../parts/states";
import { stepsOf } from "../../parts/steps";
import { Summary, Timeline } from "../../parts/timeline";
import { count } from "../../words/format";
import {
  drawnAt,
  type Execution,
  type ExecutionDetail,
  ExecutionState,
  graphInWords,
  isLive,
  Source,
  summaryOf,
  took,
} from "./execution";
import styles from "./executions.module.css";
import { texts } from "./texts";

const PERSONAL = ["approval", "review", "user"];

/** One pass through a graph: its state, steps, questions and calls. */
export function ExecutionSheet({ id, onClose }: { id: string; onClose: () => void }) {
  return (
    <ResourceSheet
      of={useApi("GET /api/executions/{execution}", { path: { execution: id } })}
      texts={texts}
      title={(run) => texts.sheet(graphInWords(run.graph), run.agent ?? texts.noAgent)}
      onClose={onClose}
      actions={(run) => <Actions run={run} />}
    >
      {(run) => <Body run={run} />}
    </ResourceSheet>
  );
}

function Body({ run }: { run: ExecutionDetail }) {
  const questions = run.waits.filter((wait) => wait.kind !== "child");
  return (
    <>
      <Summary>{summaryOf(run)}</Summary>
      <RunFacts run={run} />
      {questions.length > 0 && (
        <>
          <h3>{texts.waits}</h3>
          <ul className={styles.list}>
            {questions.map((wait) => (
              <li key={wait.id}>
                <Question wait={wait} />
              </li>
            ))}
          </ul>
        </>
      )}
      {run.children.length > 0 && (
        <>
          <h3>{texts.children}</h3>
          <Children of={run.children} />
        </>
      )}
      {run.plan !== null && (
        <>
          <h3>{texts.plan}</h3>
          <Markdown text={run.plan} />
        </>
      )}
      <h3>{texts.way}</h3>
      {run.steps.length === 0 ? <p className="muted">{texts.noWay}</p> : <Timeline steps={stepsOf(run.steps)} />}
      {run.outcome !== "" && (
        <>
          <h3>{texts.outcome}</h3>
          <Outcome text={run.outcome} />
        </>
      )}
      <Raw title={texts.raw} value={run} />
    </>
  );
}

function Actions({ run }: { run: ExecutionDetail }) {
  const mayAct = useMay("operator");
  const cancel = useSend("POST /api/executions/{execution}/cancel", { done: texts.cancelled });
  const question = run.waits.find((wait) => wait.open && PERSONAL.includes(wait.kind));
  const drawn = drawnAt(run);
  return (
    <>
      {drawn && <ButtonLink label={texts.drawn} href={drawn} />}
      {question && <ButtonLink label={texts.decide} kind="primary" href={`/questions/${question.id}`} />}
      {mayAct && isLive(run) && (
        <AskButton
          kind="danger"
          icon={X}
          label={texts.cancel}
          title={texts.askCancel}
          words={texts.askCancelWords}
          {...sends(cancel, { path: { execution: run.id } })}
        />
      )}
    </>
  );
}

function RunFacts({ run }: { run: ExecutionDetail }) {
  const facts: Fact[] = [
    [texts.status, <ExecutionState key="status" status={run.status} />],
    [texts.agent, linkTo("/agents", run.agent)],
    [texts.source, <Source key="source" source={run.source} />],
    [texts.conversation, linkTo("/conversations", run.conversationId)],
    [texts.began, <Time key="began" at={run.createdAt} />],
    [texts.took, took(run)],
    [texts.tokens, run.inputTokens + run.outputTokens > 0 && tokensOf(run)],
    [texts.cost, run.costUsd > 0 && <Money usd={run.costUsd} />],
  ];
  return <Facts of={facts} />;
}

const tokensOf = (run: ExecutionDetail): string => texts.tokensOf(count(run.inputTokens), count(run.outputTokens));

function Question({ wait }: { wait: ExecutionDetail["waits"][number] }) {
  const kind = (texts.kinds as Record<string, string>)[wait.kind] ?? wait.kind;
  const prompt = <UntrustedText text={wait.prompt.split("\n")[0] ?? ""} />;
  return (
    <>
      <span className="muted">
        {kind} · {wait.open ? texts.open : texts.answered}
      </span>{" "}
      {PERSONAL.includes(wait.kind) ? <Link href={`/questions/${wait.id}`}>{prompt}</Link> : prompt}
    </>
  );
}

/** The text of the result; a result without text is shown as JSON. */
function Outcome({ text }: { text: string }) {
  try {
    const { content } = JSON.parse(text) as { content?: unknown };
    if (typeof content === "string" && content !== "") return <Markdown text={content} />;
  } catch {
    // Truncated, or not JSON.
  }
  return <Code value={text} label={texts.outcome} />;
}

type Props = { of: readonly Pick<Execution, "id" | "graph" | "status" | "agent" | "createdAt" | "updatedAt">[] };

/** The executions that an execution called; each shows its own calls once it is opened. */
function Children({ of }: Props) {
  return (
    <ul className={styles.list}>
      {of.map((child) => (
        <li key={child.id}>
          <div className={styles.child}>
            <Link href={`/executions/${child.id}`}>
              {graphInWords(child.graph)} · <UntrustedText text={child.agent ?? texts.noAgent} />
            </Link>
            <ExecutionState status={child.status} />
            <span className="muted">{took(child)}</span>
          </div>
          <Grandchildren id={child.id} />
        </li>
      ))}
    </ul>
  );
}

function Grandchildren({ id }: { id: string }) {
  const [open, setOpen] = useState(false);
  const run = useApi("GET /api/executions/{execution}", open ? { path: { execution: id } } : null);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="muted">{texts.showChildren}</summary>
      {open && (
        <Loaded of={run}>
          {(data) =>
            data.children.length === 0 ? <p className="muted">{texts.noChildren}</p> : <Children of={data.children} />
          }
        </Loaded>
      )}
    </details>
  );
}

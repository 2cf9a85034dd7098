import { X } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Link } from "wouter";
import { useApi, useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import type { Answer, Item } from "../../api/types";
import { AskButton, sends } from "../../parts/actions";
import { ButtonLink } from "../../parts/button";
import { Markdown } from "../../parts/markdown";
import { Raw } from "../../parts/raw";
import { ResourceSheet } from "../../parts/resource";
import { Code, type Fact, Facts, linkTo, Money, Status, Time, type Tone, UntrustedText } from "../../parts/show";
import { Loaded } from "../../parts/states";
import { stepsOf } from "../../parts/steps";
import { Summary, Timeline } from "../../parts/timeline";
import { count, duration, reveal, sentences } from "../../words/format";
import { jsonOf, objectOf } from "../../words/json";
import styles from "./executions.module.css";
import { texts } from "./texts";

export type Execution = Item<"GET /api/executions">;
type ExecutionDetail = Answer<"GET /api/executions/{execution}">;
export type ExecutionStatus = Execution["status"];

export const STATUSES: readonly ExecutionStatus[] = ["running", "paused", "failed", "done", "cancelled"];

const TONES: Record<ExecutionStatus, Tone> = {
  running: "accent",
  paused: "warn",
  done: "good",
  failed: "trouble",
  cancelled: "plain",
};

export function ExecutionState({ status }: { status: ExecutionStatus }) {
  return <Status tone={TONES[status]}>{texts.statuses[status]}</Status>;
}

const WORKFLOW = "workflow:";

/** The name of the graph; for a graph of a plugin, its own name. */
export const graphInWords = (graph: string): string =>
  graph.startsWith(WORKFLOW) ? texts.workflow : ((texts.graphs as Record<string, string>)[graph] ?? reveal(graph));

/** The address that shows a workflow's run step by step; null for all other executions. */
const drawnAt = (run: { id: string; graph: string }): string | null =>
  run.graph.startsWith(WORKFLOW)
    ? `/workflows/${encodeURIComponent(run.graph.slice(WORKFLOW.length))}/runs/${run.id}`
    : null;

const isLive = (run: { status: ExecutionStatus }): boolean => run.status === "running" || run.status === "paused";

/** The duration; null while it runs. */
export function took(run: { status: ExecutionStatus; createdAt: number; updatedAt: number }): string | null {
  return isLive(run) ? null : duration(Math.max(0, run.updatedAt - run.createdAt));
}

/** The trigger: a schedule, a webhook, else a message. */
export function Source({ source }: { source: string }): ReactNode {
  const [kind, id = ""] = source.split(":");
  if (kind === "schedule") return <Link href={`/schedules/${id}`}>{texts.schedule(reveal(id))}</Link>;
  if (kind === "webhook") return <Link href={`/settings/webhooks/${id}`}>{texts.webhook(reveal(id))}</Link>;
  return source === "" ? texts.asked : <UntrustedText text={source} />;
}

/** The state, as a sentence. */
function summaryOf(run: ExecutionDetail): string {
  const says = texts.summary;
  const open = run.waits.filter((wait) => wait.open).map((wait) => wait.kind);
  switch (run.status) {
    case "done":
      return says.done(took(run) ?? "");
    case "failed":
      return run.error === null ? says.failedUnknown : sentences(says.failed(reveal(run.error)));
    case "paused":
      if (open.some((kind) => PERSONAL.includes(kind))) return says.pausedForPerson;
      if (open.includes("child")) return says.pausedForOthers;
      if (open.includes("client")) return says.pausedForClient;
      return open.includes("timer") ? says.pausedForTime : says.paused;
    case "cancelled":
      return says.cancelled;
    default:
      return sentences(says.running, run.statusNote ? reveal(run.statusNote) : "");
  }
}

const PERSONAL = ["approval", "review", "user", "input"];

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
  const content = objectOf(jsonOf(text))?.content;
  if (typeof content === "string" && content !== "") return <Markdown text={content} />;
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

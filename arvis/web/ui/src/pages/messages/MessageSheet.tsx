import { FlaskConical, Pencil, RotateCcw } from "lucide-react";
import { Fragment, useState } from "react";
import { Redirect } from "wouter";
import { useApi, useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import type { Answer, Item } from "../../api/types";
import { Button, ButtonLink } from "../../parts/button";
import { useKey } from "../../parts/keys";
import { Markdown } from "../../parts/markdown";
import { Raw } from "../../parts/raw";
import { ResourceSheet } from "../../parts/resource";
import { type Fact, Facts, linkTo, Money, Status, Time, type Tone } from "../../parts/show";
import { Empty, Skeleton } from "../../parts/states";
import { stepsOf } from "../../parts/steps";
import { Summary, Timeline } from "../../parts/timeline";
import { count, reveal } from "../../words/format";
import { RecordCase } from "../evaluations/RecordCase";
import { EditRetry } from "../queue/EditRetry";
import { conversationOf, mayEdit } from "../queue/job";
import styles from "./messages.module.css";
import { texts } from "./texts";

export type Message = Item<"GET /api/messages">;
export type MessageStatus = Message["status"];

/** The statuses in the order of the filter: those that need a person come first. */
export const STATUSES: readonly MessageStatus[] = [
  "failed",
  "dropped",
  "waiting",
  "queued",
  "running",
  "answered",
  "cancelled",
  "expired",
];

const TONES: Record<MessageStatus, Tone> = {
  accepted: "plain",
  queued: "plain",
  running: "accent",
  waiting: "warn",
  answered: "good",
  failed: "trouble",
  dropped: "trouble",
  cancelled: "warn",
  expired: "warn",
};

export function MessageState({ status }: { status: MessageStatus }) {
  return <Status tone={TONES[status]}>{texts.statuses[status]}</Status>;
}

type Detail = Answer<"GET /api/messages/{message}">;

const LONGEST_TITLE = 80;

/** One message: its timeline, the reason for its outcome, and its reply. */
export function MessageSheet({ id, onClose }: { id: string; onClose: () => void }) {
  const message = useApi("GET /api/messages/{message}", { path: { message: id } });
  const [editing, setEditing] = useState(false);
  const [recording, setRecording] = useState(false);
  const mayAct = useMay("operator");
  return (
    <ResourceSheet
      of={message}
      texts={texts}
      missing={<Elsewhere id={id} />}
      title={({ content }) => reveal(content.slice(0, LONGEST_TITLE)) || texts.nothing}
      onClose={onClose}
      actions={(shown) => (
        <Actions message={shown} mayAct={mayAct} onEdit={() => setEditing(true)} onRecord={() => setRecording(true)} />
      )}
    >
      {(shown) => (
        <>
          {editing && shown.job && (
            <EditRetry
              job={shown.job.id}
              content={shown.content}
              onCancel={() => setEditing(false)}
              onDone={() => {
                setEditing(false);
                void message.refetch();
              }}
            />
          )}
          {recording && shown.agent && (
            <RecordCase message={shown.messageId} agent={shown.agent} onDone={() => setRecording(false)} />
          )}
          <Summary>{reveal(shown.explanation)}</Summary>
          <MessageFacts message={shown} />
          <h3>{texts.content}</h3>
          <p className={styles.said}>{shown.content === "" ? texts.nothing : reveal(shown.content)}</p>
          <h3>{texts.timeline}</h3>
          <Timeline steps={stepsOf(shown.steps)} />
          <Recalled message={shown} />
          {shown.reply !== null && (
            <>
              <h3>{shown.status === "answered" ? texts.reply : texts.notice}</h3>
              <div className={styles.reply}>
                <Markdown text={shown.reply} />
              </div>
            </>
          )}
          <Raw title={texts.raw} value={shown} />
        </>
      )}
    </ResourceSheet>
  );
}

type ActionProps = { message: Detail; mayAct: boolean; onEdit: () => void; onRecord: () => void };

function Actions({ message, mayAct, onEdit, onRecord }: ActionProps) {
  const retry = useSend("POST /api/messages/{message}/retry", { done: texts.retried });
  const again = () => retry.mutate({ path: { message: message.messageId } });
  const mayRetry = mayAct && message.status === "failed" && message.job !== null;
  useKey("r", mayRetry && !retry.isPending ? again : null);
  return (
    <>
      {mayRetry && (
        <Button
          label={texts.retry}
          kind="primary"
          icon={RotateCcw}
          aria-keyshortcuts="r"
          busy={retry.isPending}
          onClick={again}
        />
      )}
      {mayAct && message.job !== null && mayEdit(message.job) && (
        <Button label={texts.edit} icon={Pencil} onClick={onEdit} />
      )}
      {message.status === "waiting" && message.job?.executionId && <Decide execution={message.job.executionId} />}
      {mayAct && message.status === "answered" && message.agent && (
        <Button label={texts.record} icon={FlaskConical} onClick={onRecord} />
      )}
      {message.agent && <ButtonLink label={texts.chat} href={`/chat/${message.agent}`} />}
    </>
  );
}

type Found = { fact: string; number: number; score: number };

/** The facts that were searched for the prompt, with their scores. The page of a fact has the form that corrects it. */
function Recalled({ message }: { message: Detail }) {
  const prompts = message.steps as readonly { prompt?: { recalled?: readonly Found[] } }[];
  const found = prompts.findLast((step) => step.prompt?.recalled)?.prompt?.recalled ?? [];
  if (found.length === 0) return null;
  return (
    <>
      <h3>{texts.recalled}</h3>
      <ul>
        {found.map(({ fact, number, score }) => (
          <li key={fact}>
            {linkTo("/memory", fact, texts.fact(String(number)))} {texts.score(score.toFixed(4))}
          </li>
        ))}
      </ul>
    </>
  );
}

/** A link to the question that a message waits for. */
function Decide({ execution }: { execution: string }) {
  const found = useApi("GET /api/executions/{execution}", { path: { execution } });
  const wait = found.data?.waits.find((one) => one.open);
  return wait ? <ButtonLink label={texts.decide} kind="primary" href={`/questions/${wait.id}`} /> : null;
}

/** An id that is not a message's may be that of a job or an execution, so that a user can look up any id here. */
function Elsewhere({ id }: { id: string }) {
  const job = useApi("GET /api/jobs/{job}", { path: { job: id } });
  const run = useApi("GET /api/executions/{execution}", { path: { execution: id } });
  if (job.data) return <Redirect to={`/queue/${id}`} replace />;
  if (run.data) return <Redirect to={`/executions/${id}`} replace />;
  if (job.isPending || run.isPending) return <Skeleton />;
  return <Empty why={texts.goneWhy} title={texts.gone} />;
}

function MessageFacts({ message }: { message: Detail }) {
  const { job, agent } = message;
  const from = message.steps.find((step) => step.step === "received") as
    | { actor?: string; platform?: string }
    | undefined;
  const others = message.answers.filter((one) => one !== message.messageId);
  const facts: Fact[] = [
    [texts.status, <MessageState key="status" status={message.status} />],
    [texts.person, from?.actor],
    [texts.channel, [from?.platform, message.channelId].filter(Boolean).join(" · ")],
    [texts.agent, linkTo("/agents", agent)],
    [texts.conversation, linkTo("/conversations", job && conversationOf(job))],
    [texts.run, linkTo("/executions", job?.executionId)],
    [texts.inQueue, linkTo("/queue", job?.id)],
    [texts.received, <Time key="received" at={message.createdAt} />],
    [
      texts.tokens,
      message.inputTokens + message.outputTokens > 0 &&
        texts.tokensOf(count(message.inputTokens), count(message.outputTokens)),
    ],
    [texts.cost, message.costUsd > 0 && <Money usd={message.costUsd} />],
    [
      texts.alsoAnswers,
      others.length > 0 && others.map((one) => <Fragment key={one}>{linkTo("/messages", one)}</Fragment>),
    ],
  ];
  return <Facts of={facts} />;
}

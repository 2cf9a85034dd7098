import { Pencil, RotateCcw, Trash2, X } from "lucide-react";
import { useState } from "react";
import { Link } from "wouter";
import { useApi, useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import type { Answer } from "../../api/types";
import { AskButton, sends } from "../../parts/actions";
import { Button } from "../../parts/button";
import { useKey } from "../../parts/keys";
import { Raw } from "../../parts/raw";
import { type Opening, ResourceSheet } from "../../parts/resource";
import { Facts, linkTo, Money, Time, UntrustedText } from "../../parts/show";
import { Failure } from "../../parts/states";
import { stepsOf } from "../../parts/steps";
import { Summary, Timeline } from "../../parts/timeline";
import { count, reveal, sentences } from "../../words/format";
import { EditRetry } from "./EditRetry";
import { conversationOf, JobState, mayCancel, mayEdit, mayRemove, mayRetry, waitsForTime } from "./job";
import { texts } from "./texts";

type Detail = Answer<"GET /api/jobs/{job}">;

/** One job: its state, timeline and actions. */
export function JobSheet({ id, onClose, onOpen }: { id: string } & Opening) {
  const job = useApi("GET /api/jobs/{job}", { path: { job: id } });
  const story = useApi("GET /api/jobs/{job}/timeline", { path: { job: id } });
  const [editing, setEditing] = useState(false);
  const mayAct = useMay("operator");
  return (
    <ResourceSheet
      of={job}
      texts={texts}
      title={({ subject, kind }) => reveal(subject) || texts.kinds[kind]}
      onClose={onClose}
      actions={(data) => mayAct && <Actions job={data} onEdit={() => setEditing(true)} onGone={onClose} />}
    >
      {(data) => (
        <>
          {editing && story.data && (
            <EditRetry
              job={data.id}
              content={story.data.content ?? ""}
              onCancel={() => setEditing(false)}
              onDone={(next) => {
                setEditing(false);
                onOpen(next);
              }}
            />
          )}
          {story.data && <Summary>{reveal(story.data.explanation)}</Summary>}
          <JobHead job={data} />
          <h3>{texts.timeline}</h3>
          {story.error && <Failure error={story.error} retry={() => void story.refetch()} />}
          {story.data && <Timeline steps={stepsOf(story.data.steps)} />}
          <h3>{texts.details}</h3>
          <JobFacts job={data} story={story.data ?? null} />
          {story.data?.content && <Raw title={texts.content} value={story.data.content} />}
          <Raw title={texts.payload} value={data} />
        </>
      )}
    </ResourceSheet>
  );
}

function Actions({ job, onEdit, onGone }: { job: Detail; onEdit: () => void; onGone: () => void }) {
  const path = { job: job.id };
  const retry = useSend("POST /api/jobs/{job}/retry", { done: texts.retried });
  const cancel = useSend("POST /api/jobs/{job}/cancel", { done: texts.cancelled });
  const remove = useSend("DELETE /api/jobs/{job}", { done: texts.removed });
  const again = () => retry.mutate({ path, body: {} });
  useKey("r", mayRetry(job) && !retry.isPending ? again : null);
  return (
    <>
      {mayRetry(job) && (
        <Button
          label={texts.retry}
          kind="primary"
          icon={RotateCcw}
          aria-keyshortcuts="r"
          busy={retry.isPending}
          onClick={again}
        />
      )}
      {mayEdit(job) && <Button label={texts.edit} icon={Pencil} onClick={onEdit} />}
      {mayCancel(job) && (
        <AskButton
          icon={X}
          label={texts.cancel}
          title={texts.askCancel}
          words={texts.askCancelWords}
          {...sends(cancel, { path })}
        />
      )}
      {mayRemove(job) && (
        <AskButton
          kind="danger"
          icon={Trash2}
          label={texts.remove}
          title={texts.askRemove}
          words={texts.askRemoveWords}
          {...sends(remove, { path }, { onSuccess: onGone })}
        />
      )}
    </>
  );
}

type Job = Answer<"GET /api/jobs/{job}">;
type Story = Answer<"GET /api/jobs/{job}/timeline">;

const LOOK = 200;

/** The most important facts of a job, with links to related pages. */
function JobHead({ job }: { job: Job }) {
  return (
    <Facts
      of={[
        [texts.status, <JobState key="status" status={job.status} />],
        [texts.next, waitsForTime(job) && <Time at={job.runAt} />],
        [texts.behind, job.status === "pending" && <PlaceInLane job={job} />],
        [texts.agent, linkTo("/agents", job.agent)],
        [texts.from, job.person],
        [
          texts.place,
          job.platform && <UntrustedText text={[job.platform, job.connector, job.channelId].join(" · ")} />,
        ],
        [texts.message, linkTo("/messages", job.messageId)],
        [texts.mergedInto, linkTo("/queue", job.mergedInto)],
      ]}
    />
  );
}

/** All other facts of a job. */
function JobFacts({ job, story }: { job: Job; story: Story | null }) {
  return (
    <Facts
      of={[
        [texts.kind, texts.kinds[job.kind]],
        [texts.run, linkTo("/executions", job.executionId)],
        [texts.conversation, linkTo("/conversations", conversationOf(job))],
        [
          texts.lane,
          <Link key="lane" href={`/queue?lane=${encodeURIComponent(job.lane)}`}>
            {reveal(job.lane)}
          </Link>,
        ],
        [texts.priority, texts.priorityOf(count(job.priority))],
        [texts.attempts, count(job.attempts)],
        [texts.crashes, job.crashes > 0 && count(job.crashes)],
        [texts.made, <Time key="made" at={job.createdAt} />],
        [texts.begun, job.startedAt !== null && <Time at={job.startedAt} />],
        [texts.ended, job.finishedAt !== null && <Time at={job.finishedAt} />],
        [texts.tokens, story && story.inputTokens + story.outputTokens > 0 && tokensOf(story)],
        [texts.cost, story && story.costUsd > 0 && <Money usd={story.costUsd} />],
      ]}
    />
  );
}

function tokensOf(story: Story): string {
  return texts.tokensOf(count(story.inputTokens), count(story.outputTokens));
}

/** The number of jobs ahead of this job in its lane; the jobs of a lane run one after the other. */
function PlaceInLane({ job }: { job: Job }) {
  const lane = useApi("GET /api/jobs", { query: { lane: job.lane, status: "pending,running", limit: LOOK } });
  if (lane.data === undefined) return null;
  const before = lane.data.items.filter((one) => one.position < job.position).length;
  if (before === 0) return sentences(texts.first);
  return lane.data.nextCursor === null ? texts.after(count(before)) : texts.afterMany(count(before));
}

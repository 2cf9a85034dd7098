import { Link } from "wouter";
import { useApi } from "../../api/hooks";
import type { Answer } from "../../api/types";
import { Facts, linkTo, Money, Time, UntrustedText } from "../../parts/show";
import { count, reveal, sentences } from "../../words/format";
import { conversationOf, JobState, waitsForTime } from "./job";
import { texts } from "./texts";

type Job = Answer<"GET /api/jobs/{job}">;
type Story = Answer<"GET /api/jobs/{job}/timeline">;

const LOOK = 200;

/** The most important facts of a job, with links to related pages. */
export function JobHead({ job }: { job: Job }) {
  return (
    <Facts
      of={[
        [texts.status, <JobState key="status" status={job.status} />],
        [texts.next, waitsForTime(job) && <Time at={job.runAt} />],
        [texts.behind, job.status === "pending" && <PlaceInLane job={job} />],
        [texts.agent, linkTo("/agents", job.agent)],
        [texts.from, job.person && <UntrustedText text={job.person} />],
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
export function JobFacts({ job, story }: { job: Job; story: Story | null }) {
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

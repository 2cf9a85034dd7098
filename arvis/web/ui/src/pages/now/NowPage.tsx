import { lazy, type ReactNode, Suspense, useMemo } from "react";
import { Link } from "wouter";
import { useApi } from "../../api/hooks";
import { useMay } from "../../api/session";
import type { Answer } from "../../api/types";
import { Chips, Page, Section, useFilter } from "../../parts/page";
import { Money, Status, Time, type Tone, UntrustedText } from "../../parts/show";
import { Loaded, Skeleton } from "../../parts/states";
import { reasonInWords } from "../../parts/steps";
import { count, duration, money } from "../../words/format";
import styles from "./now.module.css";
import { texts } from "./texts";

const Plot = lazy(() => import("../../parts/plot"));

/** Running work, open questions, failures, and response times. */
export default function NowPage() {
  const [span] = useFilter("span");
  const overview = useApi("GET /api/overview", { query: { span: span === "day" ? "day" : "hour" } });
  return (
    <Page title={texts.title} about={texts.about}>
      <Loaded of={overview}>
        {(now) => (
          <>
            <Figures now={now} />
            <div className={styles.columns}>
              <Section title={texts.running}>
                <Running now={now} />
              </Section>
              <Section title={texts.waits}>
                <Waits now={now} />
              </Section>
              <Section title={texts.failures}>
                <Failures now={now} />
              </Section>
            </div>
            <Section
              title={texts.pace}
              actions={<Chips label={texts.span} name="span" all={texts.hour} options={[["day", texts.day]]} />}
            >
              <Pace series={now.series} />
            </Section>
            <div className={styles.columns}>
              <Section title={texts.bots}>
                <Bots now={now} />
              </Section>
              <Section title={texts.accounts}>
                <Accounts now={now} />
              </Section>
            </div>
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Pace({ series: { points } }: { series: Overview["series"] }) {
  const plots = useMemo(() => {
    const line = (name: string, pick: (point: (typeof points)[number]) => number | null) => ({
      name,
      values: points.map(pick),
    });
    return {
      times: points.map((point) => point.at),
      throughput: [line(texts.answered, (one) => one.answered), line(texts.failed, (one) => one.failed)],
      latency: [line(texts.p50, (one) => one.p50Ms), line(texts.p95, (one) => one.p95Ms)],
      depth: [line(texts.depth, (one) => one.depth)],
    };
  }, [points]);
  return (
    <Suspense fallback={<Skeleton lines={4} />}>
      <div className={styles.plots}>
        <Plot title={texts.throughput} times={plots.times} series={plots.throughput} show={count} bars />
        <Plot title={texts.latency} times={plots.times} series={plots.latency} show={duration} />
        <Plot title={texts.depth} times={plots.times} series={plots.depth} show={count} />
      </div>
    </Suspense>
  );
}

type Overview = Answer<"GET /api/overview">;
type Props = { now: Overview };

/** The most important counters. */
function Figures({ now }: Props) {
  const { counts } = now;
  const seesMoney = useMay("operator");
  const budget = now.budgetTodayUsd === null ? null : texts.ofBudget(money(now.budgetTodayUsd));
  const oldest = counts.oldestReadyMs > 0 ? texts.oldest(duration(counts.oldestReadyMs)) : null;
  const figures: [string, ReactNode, string | null, string][] = [
    [texts.nowRunning, count(counts.running), null, "/queue?status=running"],
    [texts.pending, count(counts.pending), oldest, "/queue?status=pending"],
    [texts.waiting, count(counts.waiting), null, "/questions"],
    [texts.failed, count(counts.failed), null, "/queue?status=failed"],
    [texts.undelivered, count(counts.undelivered), null, "/queue?kind=deliver"],
  ];
  if (seesMoney) figures.push([texts.cost, <Money key="cost" usd={now.costTodayUsd} />, budget, "/usage"]);
  return (
    <ul className={styles.figures}>
      {figures.map(([name, value, more, href]) => (
        <li key={name}>
          <Link href={href}>
            <span className="muted">{name}</span>
            <strong>{value}</strong>
            <span className="muted">{more}</span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

function Running({ now }: Props) {
  return (
    <Rows none={texts.nothingRuns} of={now.running}>
      {(work) => (
        <li key={work.jobId}>
          <Link href={work.messageId ? `/messages/${work.messageId}` : `/queue/${work.jobId}`}>
            <UntrustedText text={work.agentName ?? texts.kinds[work.kind]} />
          </Link>
          <p className="muted">
            {[work.activity, work.tool, work.address && `${work.address.platform} ${work.address.channelId}`]
              .filter(Boolean)
              .join(" · ")}
          </p>
          <Time at={work.since} />
        </li>
      )}
    </Rows>
  );
}

function Waits({ now }: Props) {
  return (
    <Rows none={texts.nothingWaits} of={now.questions}>
      {(wait) => (
        <li key={wait.id}>
          <Link href={`/questions/${wait.id}`}>
            <UntrustedText text={wait.prompt} className={styles.short} />
          </Link>
          <p className="muted">{texts.waitKinds[wait.kind]}</p>
          <Time at={wait.askedAt} />
        </li>
      )}
    </Rows>
  );
}

function Failures({ now }: Props) {
  return (
    <Rows none={texts.nothingFailed} of={now.failures}>
      {(job) => (
        <li key={job.id}>
          <Link href={`/queue/${job.id}?status=failed`}>
            {texts.kinds[job.kind]} {job.agent && <UntrustedText text={job.agent} />}
          </Link>
          <p className="muted">
            <UntrustedText
              text={job.error ?? (job.reason ? reasonInWords(job.reason, job.kind) : "")}
              className={styles.short}
            />
          </p>
          <Time at={job.finishedAt} />
        </li>
      )}
    </Rows>
  );
}

const BOT_TONES: Record<Overview["bots"][number]["state"], Tone> = {
  running: "good",
  starting: "warn",
  waiting: "warn",
  error: "trouble",
  stopped: "plain",
};

function Bots({ now }: Props) {
  return (
    <Rows none={texts.noBots} of={now.bots}>
      {(bot) => (
        <li key={`${bot.platform}/${bot.name}`}>
          <Link href={`/settings/bots/${bot.platform}/${bot.name}`}>
            <bdi>{`${bot.platform} ${bot.name}`}</bdi>
          </Link>
          <p className="muted">{bot.error && <UntrustedText text={bot.error} className={styles.short} />}</p>
          <Status tone={BOT_TONES[bot.state]}>{texts.botStates[bot.state]}</Status>
        </li>
      )}
    </Rows>
  );
}

const ACCOUNT_TONES: Record<Overview["accounts"][number]["state"], Tone> = {
  ok: "good",
  cooldown: "warn",
  problem: "trouble",
  off: "plain",
};

function Accounts({ now }: Props) {
  return (
    <Rows none={texts.noAccounts} of={now.accounts}>
      {(account) => (
        <li key={account.name}>
          <Link href={`/settings/accounts/${account.name}`}>
            <bdi>{account.name}</bdi>
          </Link>
          <p className="muted">
            <bdi>{`${account.provider}/${account.model}`}</bdi>{" "}
            {account.error && <UntrustedText text={account.error} className={styles.short} />}
            {account.cooldownUntil !== null && (
              <>
                {texts.until} <Time at={account.cooldownUntil} />
              </>
            )}
          </p>
          <Status tone={ACCOUNT_TONES[account.state]}>{texts.accountStates[account.state]}</Status>
        </li>
      )}
    </Rows>
  );
}

function Rows<T>({ of, none, children }: { of: readonly T[]; none: string; children: (one: T) => ReactNode }) {
  if (of.length === 0) return <p className="muted">{none}</p>;
  return <ul className={styles.rows}>{of.map(children)}</ul>;
}

import { lazy, type ReactNode, Suspense, useMemo } from "react";
import { useApi } from "../../api/hooks";
import type { Answer, Query } from "../../api/types";
import { Choice } from "../../parts/field";
import { Chips, Page, Section, useFilter } from "../../parts/page";
import { Money } from "../../parts/show";
import { Empty, Loaded, Skeleton } from "../../parts/states";
import { Table } from "../../parts/table";
import { count, duration, money } from "../../words/format";
import { texts } from "./texts";
import styles from "./usage.module.css";

const Plot = lazy(() => import("../../parts/plot"));

export type By = NonNullable<Query<"GET /api/usage">["by"]>;

const DAY_MS = 86_400_000;
const SPANS: Record<string, number> = { "1": 1, "7": 7, "90": 90 };
const SPLITS = ["agent", "model", "account", "client"] as const;
type Split = (typeof SPLITS)[number];
const BYS = Object.entries(texts.bys) as [By, string][];

/** Model calls and their cost: per day as lines, and per group as a table. */
export default function UsagePage() {
  const [days] = useFilter("days");
  const [split, setSplit] = useFilter("split");
  const [by, setBy] = useFilter("by");
  const since = useMemo(() => String(startOfDay(Date.now() - ((SPANS[days] ?? 30) - 1) * DAY_MS)), [days]);
  const chosen: Split = SPLITS.find((one) => one === split) ?? "agent";
  const grouped: By = BYS.find(([one]) => one === by)?.[0] ?? "agent";
  const perDay = useApi("GET /api/usage", { query: { by: "day", split: chosen, since } });
  const perGroup = useApi("GET /api/usage", { query: { by: grouped, since } });
  return (
    <Page
      title={texts.title}
      about={texts.about}
      filters={
        <Chips
          label={texts.span}
          name="days"
          all={texts.month}
          options={[
            ["1", texts.today],
            ["7", texts.week],
            ["90", texts.quarter],
          ]}
        />
      }
    >
      <Loaded of={perDay}>
        {(usage) =>
          usage.total.calls === 0 ? (
            <Empty why={texts.emptyWhy} title={texts.empty} />
          ) : (
            <>
              <Sums total={usage.total} />
              <Section
                title={texts.perDay}
                actions={
                  <Choice
                    aria-label={texts.split}
                    value={chosen}
                    onChange={setSplit}
                    options={SPLITS.map((one) => [one, texts.bys[one]] as const)}
                  />
                }
              >
                <Days usage={usage} since={Number(since)} />
              </Section>
            </>
          )
        }
      </Loaded>
      <Section
        title={texts.groups}
        actions={<Choice aria-label={texts.by} value={grouped} onChange={setBy} options={BYS} />}
      >
        <Loaded of={perGroup}>{(usage) => <Groups usage={usage} />}</Loaded>
      </Section>
    </Page>
  );
}

function Sums({ total }: { total: Usage["total"] }) {
  const sums: [string, ReactNode][] = [
    [texts.cost, <Cost key="cost" of={total} />],
    [texts.calls, count(total.calls)],
    [texts.input, count(total.inputTokens)],
    [texts.cached, cached(total)],
    [texts.output, count(total.outputTokens)],
    [texts.errors, count(total.errors)],
  ];
  return (
    <dl className={styles.sums}>
      {sums.map(([name, value]) => (
        <div key={name}>
          <dt className="muted">{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Days({ usage, since }: { usage: Usage; since: number }) {
  const plots = useMemo(() => {
    const days = daysFrom(since, usage.until);
    const keys = [...new Map(usage.points.map((point) => [point.key, point.name]))];
    const found = new Map(usage.points.map((point) => [`${point.day} ${point.key}`, point]));
    const lines = (pick: (point: Usage["points"][number]) => number) =>
      keys.map(([key, name]) => ({
        name: name || texts.none,
        values: days.map((day) => {
          const point = found.get(`${day} ${key}`);
          return point === undefined ? 0 : pick(point);
        }),
      }));
    return {
      times: days.map((day) => Date.parse(`${day}T12:00:00`)),
      cost: lines((point) => point.costUsd),
      tokens: lines((point) => point.inputTokens + point.outputTokens),
      calls: lines((point) => point.calls),
    };
  }, [usage, since]);
  return (
    <Suspense fallback={<Skeleton lines={4} />}>
      <div className={styles.plots}>
        <Plot title={texts.cost} times={plots.times} series={plots.cost} show={money} />
        <Plot title={texts.calls} times={plots.times} series={plots.calls} show={count} />
        <Plot title={texts.tokens} times={plots.times} series={plots.tokens} show={count} />
      </div>
    </Suspense>
  );
}

/** Every day of a period, `2026-11-22`, in the reader's time zone. */
function daysFrom(since: number, until: number): string[] {
  const days: string[] = [];
  const day = new Date(since);
  for (; day.getTime() < until; day.setDate(day.getDate() + 1)) days.push(day.toLocaleDateString("sv"));
  return days;
}

function startOfDay(at: number): number {
  return new Date(at).setHours(0, 0, 0, 0);
}

type Usage = Answer<"GET /api/usage">;
type Group = Usage["groups"][number];

/** The rows of a report, the most expensive first; each with its success rate. */
function Groups({ usage }: { usage: Usage }) {
  const pages = useMemo(
    () => ({ rows: usage.groups, error: null, loading: false, more: null, retry: () => {} }),
    [usage.groups],
  );
  const number = (name: string, pick: (group: Group) => number) => ({
    name,
    width: "100px",
    show: (group: Group) => count(pick(group)),
  });
  return (
    <Table
      label={texts.groups}
      pages={pages}
      idOf={(group) => group.key}
      columns={[
        { name: texts.bys[usage.by], width: "minmax(120px, 2fr)", show: (group) => group.name || texts.none },
        { name: texts.cost, width: "90px", show: (group) => <Cost of={group} /> },
        number(texts.calls, (group) => group.calls),
        number(texts.input, (group) => group.inputTokens),
        { name: texts.cached, width: "110px", wide: true, show: cached },
        number(texts.output, (group) => group.outputTokens),
        number(texts.errors, (group) => group.errors),
        {
          name: texts.success,
          width: "90px",
          show: (group) => (group.success === null ? "–" : `${Math.round(group.success * 100)} %`),
        },
        {
          name: texts.average,
          width: "90px",
          show: (group) => (group.averageMs === null ? "–" : duration(group.averageMs)),
        },
      ]}
      empty={<Empty why={texts.emptyWhy} title={texts.empty} />}
    />
  );
}

/** The input tokens that vendors read from their caches, and their share of all input tokens. */
function cached({ inputTokens, cachedTokens }: Pick<Group, "inputTokens" | "cachedTokens">): string {
  if (inputTokens === 0) return "–";
  return texts.share(count(cachedTokens), Math.round((cachedTokens / inputTokens) * 100));
}

/** The cost of calls. Calls of models without a price are not free: their cost is unknown. */
function Cost({ of }: { of: Pick<Group, "costUsd" | "calls" | "unpriced"> }) {
  if (of.unpriced === 0) return <Money usd={of.costUsd} />;
  const known = of.unpriced < of.calls ? texts.atLeast(money(of.costUsd)) : texts.unpriced;
  return <span title={texts.unpricedWhy(count(of.unpriced))}>{known}</span>;
}

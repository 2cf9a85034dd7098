import { lazy, Suspense, useMemo } from "react";
import { useApi } from "../../api/hooks";
import { Chips, Page, Section, useFilter } from "../../parts/page";
import { Loaded, Skeleton } from "../../parts/states";
import { count, duration } from "../../words/format";
import { Accounts, Bots, Failures, Figures, type Overview, Running, Waits } from "./lists";
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

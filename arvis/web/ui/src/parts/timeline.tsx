/** A timeline, step by step: one component for messages, jobs, executions, runs and occurrences. */

import { Check, Circle, CircleAlert, Hourglass } from "lucide-react";
import type { ReactNode } from "react";
import { duration, exactly, money, reveal } from "../words/format";
import { Code } from "./show";
import { texts } from "./texts";
import styles from "./timeline.module.css";

export type Step = {
  /** The start, in ms. */
  at: number;
  title: string;
  /** The person, agent or process that acted. */
  who?: string | null;
  detail?: ReactNode;
  durationMs?: number | null;
  costUsd?: number | null;
  tone?: "done" | "trouble" | "waiting" | "plain";
  input?: unknown;
  output?: unknown;
};

const SIGNS = { done: Check, trouble: CircleAlert, waiting: Hourglass, plain: Circle };

/** A timeline. `summary`: its first line, the reason for the outcome. */
export function Timeline({ summary, steps }: { summary?: ReactNode; steps: readonly Step[] }) {
  const begin = steps[0]?.at ?? 0;
  return (
    <div className={styles.timeline}>
      {summary && <div className={styles.summary}>{summary}</div>}
      <ol>
        {steps.map((step, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: steps are only ever added at the end
          <li key={index} className={styles[step.tone ?? "plain"]}>
            <Sign tone={step.tone ?? "plain"} />
            <div className={styles.step}>
              <p className={styles.title}>
                <span>{reveal(step.title)}</span>
                {step.who && <bdi className="muted">{reveal(step.who)}</bdi>}
              </p>
              <p className={styles.figures}>
                <time dateTime={new Date(step.at).toISOString()} title={exactly(step.at)}>
                  +{duration(Math.max(0, step.at - begin))}
                </time>
                {typeof step.durationMs === "number" && <span>{duration(step.durationMs)}</span>}
                {typeof step.costUsd === "number" && step.costUsd > 0 && <span>{money(step.costUsd)}</span>}
              </p>
              {step.detail && <div className={styles.detail}>{step.detail}</div>}
              <Behind title={texts.input} value={step.input} />
              <Behind title={texts.output} value={step.output} />
            </div>
          </li>
        ))}
      </ol>
    </div>
  );
}

/** The reason for the current state, as a sentence: readers see it first. */
export function Summary({ children }: { children: ReactNode }) {
  return <p className={styles.summary}>{children}</p>;
}

function Sign({ tone }: { tone: keyof typeof SIGNS }) {
  const Shape = SIGNS[tone];
  return <Shape aria-hidden className={styles.sign} />;
}

function Behind({ title, value }: { title: string; value: unknown }) {
  if (value === undefined || value === null || value === "") return null;
  return (
    <details>
      <summary>{title}</summary>
      <Code value={value} label={title} />
    </details>
  );
}

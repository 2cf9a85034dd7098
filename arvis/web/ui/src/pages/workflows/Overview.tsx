import type { ReactNode } from "react";
import { Link } from "wouter";
import { Section } from "../../parts/page";
import { Facts, Status, Time, UntrustedText } from "../../parts/show";
import { count, reveal, sentences } from "../../words/format";
import { SETTINGS } from "../../workflow/kinds";
import { Drawn } from "./Drawn";
import { texts } from "./texts";
import {
  addressOf,
  documentOf,
  type Problem,
  RunState,
  troublesOf,
  VersionMark,
  type WorkflowDetail,
} from "./workflow";
import styles from "./workflows.module.css";

/** The diagram, the state, and the triggers. */
export function Overview({ workflow }: { workflow: WorkflowDetail }) {
  const document = documentOf(workflow);
  const settings = settingsOf(document.settings);
  return (
    <>
      {workflow.problems.length > 0 && <Problems of={workflow.problems} />}
      <Section title={texts.drawing}>
        <Drawn
          document={document}
          label={texts.drawingOf(reveal(workflow.name))}
          troubles={troublesOf(workflow.problems)}
        />
      </Section>
      <div className={styles.halves}>
        <Section title={texts.state}>
          <Summary workflow={workflow} />
        </Section>
        <Section title={texts.begins}>
          <Triggers workflow={workflow} />
        </Section>
        <Section title={texts.settings}>
          {settings.length > 0 ? <Facts of={settings} /> : <p className="muted">{texts.asSet}</p>}
        </Section>
      </div>
    </>
  );
}

function Summary({ workflow }: { workflow: WorkflowDetail }) {
  const { lastRun, runnable } = workflow;
  const facts: [string, ReactNode][] = [
    [texts.newest, <VersionMark key="newest" of={workflow} />],
    [texts.runsVersion, runnable === null ? texts.nothingRuns : texts.versionOf(count(runnable))],
    [
      texts.lastRun,
      lastRun === null ? (
        texts.neverRun
      ) : (
        <Link key="last" href={addressOf(workflow.id, "runs", lastRun.id)} className={styles.last}>
          <RunState status={lastRun.status} /> <Time at={lastRun.at} />
        </Link>
      ),
    ],
    [texts.live, workflow.liveRuns > 0 ? count(workflow.liveRuns) : null],
    [texts.slug, <code key="slug">{workflow.slug}</code>],
    [texts.made, <Time key="made" at={workflow.createdAt} />],
    [texts.changed, <Time key="changed" at={workflow.updatedAt} />],
  ];
  return <Facts of={facts} />;
}

/** Every trigger with its source. */
function Triggers({ workflow }: { workflow: WorkflowDetail }) {
  const drawn = documentOf(workflow).nodes.filter((node) => node.type === "trigger");
  if (drawn.length === 0) return <p className="muted">{texts.noTriggers}</p>;
  return (
    <ul className={styles.plainList}>
      {drawn.map(({ id, data }) => {
        const kind = String(data.kind ?? "manual");
        const where = (["platform", "channel", "words"] as const)
          .filter((field) => data[field])
          .map((field) => `${texts.where[field]} ${reveal(String(data[field]))}`)
          .join(" ");
        return (
          <li key={id}>
            {(texts.triggers as Record<string, string>)[kind] ?? reveal(kind)} <bdi>{where}</bdi>
            {data.description ? (
              <p className="muted">
                <UntrustedText text={sentences(String(data.description))} />
              </p>
            ) : null}
          </li>
        );
      })}
    </ul>
  );
}

/** Settings that differ from the defaults. */
function settingsOf(set: Record<string, unknown>): [string, ReactNode][] {
  return SETTINGS.filter(({ name, default: usual }) => isSet(set[name]) && set[name] !== usual).map(
    ({ name, label }): [string, ReactNode] => {
      const value = set[name];
      return [label, typeof value === "number" ? count(value) : <UntrustedText key={name} text={String(value)} />];
    },
  );
}

const isSet = (value: unknown): boolean => value !== undefined && value !== null && value !== "";

/** The problems of a document, each with its fix; those that prevent a run come first. */
export function Problems({ of }: { of: readonly Problem[] }) {
  const errors = of.filter((one) => one.severity === "error");
  const hints = of.filter((one) => one.severity !== "error");
  return (
    <>
      {errors.length > 0 && <Group title={texts.problems} of={errors} />}
      {hints.length > 0 && <Group title={texts.hints} of={hints} />}
    </>
  );
}

function Group({ title, of }: { title: string; of: readonly Problem[] }) {
  const trouble = of[0]?.severity === "error";
  return (
    <section className={styles.problems} data-trouble={trouble || undefined} aria-label={title}>
      <h2>
        <Status tone={trouble ? "trouble" : "warn"}>{title}</Status>
      </h2>
      <ul>
        {of.map((one) => (
          <li key={`${one.rule} ${one.node} ${one.connection} ${one.field}`}>
            {sentences(reveal(one.message), reveal(one.fix))}
          </li>
        ))}
      </ul>
    </section>
  );
}

import { Link } from "wouter";
import { Section } from "../../parts/page";
import { Code } from "../../parts/show";
import { texts } from "./texts";
import type { WorkflowDetail } from "./workflow";
import styles from "./workflows.module.css";

const KEY = '  -H "Authorization: Bearer $ARVIS_KEY"';
const JSON_TYPE = '  -H "Content-Type: application/json"';
const lines = (...parts: string[]): string => parts.join(" \\\n");

/** The ways to start a workflow: programs, chats, schedules and other services. */
export function CallPart({ workflow }: { workflow: WorkflowDetail }) {
  const says = texts.call;
  const origin = window.location.origin;
  const calls: [string, string][] = [
    [
      says.begin,
      lines(
        `curl -X POST ${origin}/api/workflows/${workflow.slug}/runs`,
        KEY,
        JSON_TYPE,
        `  -d '{"input": "The input of the run"}'`,
      ),
    ],
    [says.look, lines(`curl ${origin}/api/runs/RUN`, KEY)],
    [says.follow, lines(`curl -N ${origin}/api/runs/RUN/events`, KEY)],
    [
      says.answer,
      lines(
        `curl -X POST ${origin}/api/runs/RUN/resume`,
        KEY,
        JSON_TYPE,
        `  -d '{"decision": "approve", "note": "Go ahead"}'`,
      ),
    ],
  ];
  return (
    <div className={styles.narrow}>
      <p>
        {says.why} <Link href="/settings/users/add-key">{says.keys}</Link>
      </p>
      {calls.map(([title, code]) => (
        <Section key={title} title={title}>
          <Code value={code} label={title} />
        </Section>
      ))}
      <Section title={says.chat}>
        <p>{says.chatWhy}</p>
        <Code value={`/run ${workflow.slug} what it begins with`} label={says.chat} />
      </Section>
      <Section title={says.schedule}>
        <p>
          {says.scheduleWhy} <Link href="/schedules">{says.schedules}</Link>
        </p>
      </Section>
      <Section title={says.webhook}>
        <p>
          {says.webhookWhy} <Link href="/settings/webhooks">{says.webhooks}</Link>
        </p>
      </Section>
    </div>
  );
}

import {
  Bot,
  Check,
  Circle,
  CircleAlert,
  Flag,
  GitBranch,
  Hourglass,
  type LucideIcon,
  MessageSquare,
  Wrench,
} from "lucide-react";
import { useState } from "react";
import { Button } from "../../../parts/button";
import { Code, Status, type Tone, UntrustedText } from "../../../parts/show";
import { Failure } from "../../../parts/states";
import { count, duration, exactly, reveal } from "../../../words/format";
import { jsonOf } from "../../../words/json";
import { ICONS } from "../../../workflow/icons";
import { LOG_TYPES } from "../../../workflow/kinds";
import type { LogLine } from "../workflow";
import type { useLog } from "./live";
import styles from "./run.module.css";
import { wayTaken } from "./runState";
import { texts } from "./texts";
import { type Call, type Calls, OF_SUBAGENTS } from "./tree";

const SYSTEM = "system";
const SHORT = 280;
const SHOWN = 200;

const SIGNS: Record<string, LucideIcon> = {
  step_end: Check,
  input_received: Check,
  wait_input: Hourglass,
  llm_response: MessageSquare,
  llm_error: CircleAlert,
  error: CircleAlert,
  branch_failed: CircleAlert,
  warning: CircleAlert,
  logic_check: GitBranch,
  tool_call: Wrench,
  tool_result: Wrench,
  subagent_call_start: Bot,
  run_end: Flag,
};
const TONES: Record<string, string> = {
  step_end: "done",
  input_received: "done",
  run_end: "done",
  wait_input: "waiting",
  warning: "waiting",
  llm_error: "trouble",
  error: "trouble",
  branch_failed: "trouble",
};

type Props = {
  log: ReturnType<typeof useLog>;
  /** The calls of subagents in the log. */
  calls: Calls;
  /** The start of the run, in ms. */
  began: number;
  /** The name of a node. */
  nameOf: (node: string) => string;
  /** The name of an output of a node. */
  wayOf: (node: string, handle: string) => string;
  /** Only the lines of this node; empty: all lines. */
  node: string;
  onNode: (node: string) => void;
};

/** The log of a run, line by line; calls of subagents are trees at their place. */
export function RunLog({ log, calls: { all, roots }, began, nameOf, wayOf, node, onNode }: Props) {
  const [from, setFrom] = useState(0);
  const lines = linesOf(log.lines, node, roots);
  const helped = node === "" ? [] : all.filter((call) => call.node === node);
  const hidden = Math.max(0, lines.length - SHOWN - from);
  if (lines.length === 0 && helped.length > 0) return <Subagents of={helped} />;
  if (lines.length === 0 && log.error === null) {
    return <p className="muted">{node === "" ? texts.noLines : texts.noLinesHere}</p>;
  }
  return (
    <>
      {hidden > 0 && (
        <Button label={texts.more(count(Math.min(hidden, SHOWN)))} kind="quiet" onClick={() => setFrom(from + SHOWN)} />
      )}
      <ol className={styles.log}>
        {lines.slice(hidden).map((line) => (
          <Line
            key={line.number}
            line={line}
            began={began}
            who={line.nodeId === SYSTEM ? texts.run : nameOf(line.nodeId)}
            onNode={line.nodeId === SYSTEM || node !== "" ? null : () => onNode(line.nodeId)}
            call={roots.get(line.number)}
            wayOf={(handle) => wayOf(line.nodeId, handle)}
          />
        ))}
      </ol>
      {log.error && <Failure error={log.error} retry={log.retry} />}
    </>
  );
}

/**
 * The visible lines: of one node or of all. The start line of a step is hidden if other lines follow; lines of nested calls
 * are in the tree of the first one.
 */
function linesOf(lines: readonly LogLine[], node: string, roots: Calls["roots"]): LogLine[] {
  const lastOf = new Map(lines.map((line) => [line.nodeId, line.number]));
  return lines.filter(
    (line) =>
      (node === "" || line.nodeId === node) &&
      (line.type !== "start_prompt" || line.content !== "") &&
      (!OF_SUBAGENTS.has(line.type) || roots.has(line.number)) &&
      (line.type !== "step_start" || lastOf.get(line.nodeId) === line.number),
  );
}

type LineProps = {
  line: LogLine;
  began: number;
  who: string;
  onNode: (() => void) | null;
  call: Call | undefined;
  wayOf: (handle: string) => string;
};

function Line({ line, began, who, onNode, call, wayOf }: LineProps) {
  const Sign = SIGNS[line.type] ?? ICONS[LOG_TYPES[line.type]?.icon ?? ""] ?? Circle;
  const title =
    (texts.entries as Record<string, string>)[line.type] ?? LOG_TYPES[line.type]?.label ?? reveal(line.type);
  return (
    <li data-tone={toneOf(line)}>
      <Sign aria-hidden className={styles.lineSign} />
      <div className={styles.line}>
        <p className={styles.lineTitle}>
          {onNode === null ? (
            <bdi className={styles.who}>{reveal(who)}</bdi>
          ) : (
            <button type="button" className={styles.who} onClick={onNode}>
              <bdi>{reveal(who)}</bdi>
            </button>
          )}
          <span>{title}</span>
          <time className="muted" dateTime={new Date(line.timestamp).toISOString()} title={exactly(line.timestamp)}>
            +{duration(Math.max(0, line.timestamp - began))}
          </time>
        </p>
        {call ? <Subagents of={[call]} /> : <Content line={line} wayOf={wayOf} />}
      </div>
    </li>
  );
}

/** The end of a run has a success colour only if the run succeeded. */
function toneOf({ type, content }: LogLine): string {
  if (type === "run_end" && content !== "completed") return content === "failed" ? "trouble" : "plain";
  return TONES[type] ?? LOG_TYPES[type]?.tone ?? "plain";
}

/** Show short texts inline, long texts behind a disclosure, and JSON with indentation. */
function Content({ line: { type, content }, wayOf }: { line: LogLine; wayOf: (handle: string) => string }) {
  const words = type === "step_end" ? wayTaken(content) : content;
  // The state is shown above, and the step's name before its line.
  if (words === "" || type === "step_start" || type === "run_end") return null;
  if (type === "step_end") return <p className="muted">{texts.way(reveal(wayOf(words)))}</p>;
  if (words.length <= SHORT) {
    return (
      <p className={styles.said}>
        <UntrustedText text={words} />
      </p>
    );
  }
  return (
    <>
      <p className={styles.said}>
        <UntrustedText text={`${words.slice(0, SHORT)}…`} />
      </p>
      <details>
        <summary className="muted">{texts.whole}</summary>
        <Code value={/^[[{]/u.test(words) ? jsonOf(words, words) : words} label={texts.whole} />
      </details>
    </>
  );
}

const CALL_TONES: Record<Call["state"], Tone> = { open: "accent", done: "good", failed: "trouble" };

/** Calls of subagents, each with its own calls. */
function Subagents({ of }: { of: readonly Call[] }) {
  return (
    <ul className={styles.tree} aria-label={texts.subagents}>
      {of.map((call) => (
        <li key={call.id}>
          <p className={styles.call}>
            <bdi>{reveal(call.name)}</bdi>
            <Status tone={CALL_TONES[call.state]}>{texts.calls[call.state]}</Status>
            {call.endedAt !== null && <span className="muted">{duration(call.endedAt - call.at)}</span>}
          </p>
          <Words title={texts.asked} text={call.asked} />
          {call.calls.length > 0 && <Subagents of={call.calls} />}
          <Words title={texts.answered} text={call.answered} />
        </li>
      ))}
    </ul>
  );
}

function Words({ title, text }: { title: string; text: string }) {
  if (text === "") return null;
  return (
    <details>
      <summary className="muted">{title}</summary>
      <Code value={text} label={title} />
    </details>
  );
}

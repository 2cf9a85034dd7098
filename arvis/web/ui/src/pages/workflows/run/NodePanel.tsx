import { RotateCcw, X } from "lucide-react";
import { Button, IconButton } from "../../../parts/button";
import { Code, type Fact, Facts, Status, Time, type Tone, UntrustedText } from "../../../parts/show";
import { count, duration, reveal } from "../../../words/format";
import { nameOf } from "../../../workflow/canvas/look";
import type { NodeState, NodeStatus } from "../../../workflow/canvas/shapes";
import type { WorkflowDocument, WorkflowNode } from "../../../workflow/types";
import { isLive, kindInWords, type LogLine, type RunDetail } from "../workflow";
import styles from "./run.module.css";
import { tookAt } from "./runState";
import { texts } from "./texts";

const TONES: Record<NodeState, Tone> = {
  pending: "plain",
  running: "accent",
  waiting: "warn",
  done: "good",
  failed: "trouble",
  skipped: "plain",
  cancelled: "plain",
};

type Props = {
  run: RunDetail;
  document: WorkflowDocument;
  node: WorkflowNode;
  status: NodeStatus;
  lines: readonly LogLine[];
  /** Rerun from this step; null if that is not allowed. */
  onAgain: (() => void) | null;
  onClose: () => void;
};

/** One step of a run: its state, input and output. */
export function NodePanel({ run, document, node, status, lines, onAgain, onClose }: Props) {
  const nodeState = run.nodes[node.id];
  const took = tookAt(node.id, lines);
  const given = inputsOf(run, document, node);
  const facts: Fact[] = [
    [
      texts.state,
      <Status key="state" tone={TONES[status.state]}>
        {texts.states[status.state]}
      </Status>,
    ],
    [texts.visits, (nodeState?.visits ?? 0) > 1 && count(nodeState?.visits ?? 0)],
    [texts.at, nodeState?.at && <Time key="at" at={nodeState.at} />],
    [texts.duration, took === null ? null : duration(took)],
    [texts.error, nodeState?.error],
    [
      texts.retry,
      nodeState?.retry && (
        <span key="retry">
          {texts.tried(count(nodeState.retry.attempts))} <Time at={nodeState.retry.nextAt} />
          {": "}
          <UntrustedText text={nodeState.retry.reason} />
        </span>
      ),
    ],
    [texts.warnings, nodeState?.warnings?.join("\n")],
    [texts.tainted, nodeState?.tainted && texts.taintedWhy],
  ];
  return (
    <section className={styles.panel} aria-label={texts.stepOf(kindInWords(node.type), reveal(nameOf(node)))}>
      <header>
        <h2>
          <UntrustedText text={nameOf(node)} />
        </h2>
        <span className="muted">{kindInWords(node.type)}</span>
        <IconButton icon={X} label={texts.close} onClick={onClose} />
      </header>
      <Facts of={facts} />
      {given.length > 0 && (
        <>
          <h3>{texts.inputs}</h3>
          {given.map(([id, from, value]) => (
            <div key={id}>
              <p className="muted">
                <UntrustedText text={from} />
              </p>
              <Code value={value} label={texts.inputs} />
            </div>
          ))}
        </>
      )}
      {nodeState?.output !== undefined && nodeState.output !== null && (
        <>
          <h3>{texts.output}</h3>
          <Code value={nodeState.output} label={texts.output} />
        </>
      )}
      {onAgain !== null && !isLive(run) && nodeState !== undefined && nodeState.state !== "skipped" && (
        <div>
          <Button label={texts.againFrom} icon={RotateCcw} onClick={onAgain} />
        </div>
      )}
    </section>
  );
}

/** The outputs of the previous steps; the first step got the input of the run. */
function inputsOf(run: RunDetail, document: WorkflowDocument, node: WorkflowNode): [string, string, unknown][] {
  const before = document.connections.filter(({ target }) => target === node.id).map(({ source }) => source);
  if (before.length === 0) {
    const known = run.input !== null && run.input !== undefined && run.input !== "";
    return known ? [["", texts.input, run.input]] : [];
  }
  const found = new Map(document.nodes.map((one) => [one.id, one]));
  return [...new Set(before)].flatMap((id): [string, string, unknown][] => {
    const [from, gave] = [found.get(id), run.nodes[id]?.output];
    return from === undefined || gave === undefined || gave === null ? [] : [[id, nameOf(from), gave]];
  });
}

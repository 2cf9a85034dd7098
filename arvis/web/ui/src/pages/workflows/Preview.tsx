import { heightOf, WIDTH } from "../../workflow/canvas/geometry";
import type { NodeState } from "../../workflow/canvas/shapes";
import { SUBAGENT } from "../../workflow/kinds";
import { kindOf } from "../../workflow/node";
import type { WorkflowDocument, WorkflowNode } from "../../workflow/types";
import styles from "./preview.module.css";

const MARGIN = 24;
const SIGN = 44;
const TURN = 20;

type Props = { document: WorkflowDocument; label: string; states?: Readonly<Record<string, { state: NodeState }>> };

/** A workflow as a small picture: its steps as boxes; in a run, each with its state as a colour and a sign. */
export function Preview({ document, label, states }: Props) {
  const boxes = document.nodes.map((node) => ({ node, height: heightOf(node) }));
  const left = Math.min(0, ...boxes.map(({ node }) => node.x));
  const top = Math.min(0, ...boxes.map(({ node }) => node.y));
  const right = Math.max(WIDTH, ...boxes.map(({ node }) => node.x + WIDTH));
  const bottom = Math.max(SIGN, ...boxes.map(({ node, height }) => node.y + height));
  const first = Math.min(...boxes.map(({ node }) => node.x), right);
  const box = [Math.max(left, first) - MARGIN, top - MARGIN, right - Math.max(left, first), bottom - top];
  const view = `${box[0]} ${box[1]} ${(box[2] ?? 0) + 2 * MARGIN} ${(box[3] ?? 0) + 2 * MARGIN}`;
  const known = new Map(boxes.map((one) => [one.node.id, one]));
  return (
    <svg viewBox={view} className={styles.preview} role="img" aria-label={label}>
      {document.connections.map((one) => {
        const [from, to] = [known.get(one.source), known.get(one.target)];
        if (from === undefined || to === undefined) return null;
        const way = one.sourceHandle === SUBAGENT ? down(from, to) : along(from, to);
        return <path key={one.id} d={way} data-subagent={one.sourceHandle === SUBAGENT || undefined} />;
      })}
      {boxes.map(({ node, height }) => (
        <g key={node.id} data-category={kindOf(node)?.category} data-state={states?.[node.id]?.state}>
          <rect x={node.x} y={node.y} width={WIDTH} height={height} rx={12} />
          <Sign node={node} height={height} state={states?.[node.id]?.state} />
        </g>
      ))}
    </svg>
  );
}

type Box = { node: WorkflowNode; height: number };

function along(from: Box, to: Box): string {
  const [x1, y1] = [from.node.x + WIDTH, from.node.y + from.height / 2];
  const [x2, y2] = [to.node.x, to.node.y + to.height / 2];
  if (x2 < x1) return `M ${x1} ${y1} h ${TURN} V ${(y1 + y2) / 2} H ${x2 - TURN} V ${y2} h ${TURN}`;
  const bend = Math.max(40, Math.abs(x2 - x1) / 2);
  return `M ${x1} ${y1} C ${x1 + bend} ${y1}, ${x2 - bend} ${y2}, ${x2} ${y2}`;
}

function down(from: Box, to: Box): string {
  const [x1, y1] = [from.node.x + WIDTH / 2, from.node.y + from.height];
  const [x2, y2] = [to.node.x + WIDTH / 2, to.node.y];
  return `M ${x1} ${y1} C ${x1} ${y1 + 40}, ${x2} ${y2 - 40}, ${x2} ${y2}`;
}

/** The sign of a state: a tick, a cross, two bars, a ring; without a run, a bar in the colour of the kind. */
function Sign({ node, height, state }: { node: WorkflowNode; height: number; state: NodeState | undefined }) {
  const [x, y] = [node.x + WIDTH / 2, node.y + height / 2];
  switch (state) {
    case "done":
      return <path className={styles.sign} d={`M ${x - 24} ${y} l 16 16 l 32 -32`} />;
    case "failed":
      return <path className={styles.sign} d={`M ${x - 18} ${y - 18} l 36 36 m 0 -36 l -36 36`} />;
    case "waiting":
      return <path className={styles.sign} d={`M ${x - 10} ${y - 18} v 36 m 20 -36 v 36`} />;
    case "running":
      return <circle className={styles.sign} cx={x} cy={y} r={18} />;
    case "skipped":
    case "cancelled":
      return <path className={styles.sign} d={`M ${x - 20} ${y} h 40`} />;
    default:
      return <rect className={styles.bar} x={node.x} y={node.y} width={14} height={height} rx={7} />;
  }
}

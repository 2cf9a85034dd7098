import { Handle, type NodeProps, Position } from "@xyflow/react";
import {
  Ban,
  ChevronsDownUp,
  ChevronsUpDown,
  CircleCheck,
  CircleDashed,
  CirclePause,
  CircleX,
  LoaderCircle,
  type LucideIcon,
  TriangleAlert,
} from "lucide-react";
import { createContext, memo, useContext } from "react";
import { reveal } from "../../words/format";
import { LOOP_BACK, SUBAGENT } from "../kinds";
import { handlesOf, kindOf, type Handle as Place } from "../node";
import styles from "./canvas.module.css";
import { rowsOf } from "./geometry";
import { iconOf, nameOf, summaryOf } from "./look";
import { HELPER, type NodeState, type NodeStatus, type Step, sourceName, type Trouble, targetName } from "./shapes";
import { texts } from "./texts";

/** Show or hide the subagents of an agent; null if that is not possible. */
export const FoldContext = createContext<((id: string) => void) | null>(null);

const SIGNS: Record<NodeState, LucideIcon> = {
  pending: CircleDashed,
  running: LoaderCircle,
  waiting: CirclePause,
  done: CircleCheck,
  failed: CircleX,
  skipped: Ban,
  cancelled: Ban,
};

/** One node: its icon and name, a summary, and its outputs below one another. */
export const StepNode = memo(function StepNode({ data, selected }: NodeProps<Step>) {
  const { node, status, trouble, editable } = data;
  const kind = kindOf(node);
  const Icon = iconOf(node.type);
  const { sources, targets } = handlesOf(node);
  const rows = rowsOf(node);
  const [plain, way] = [targets, sources].map((all) => all.find(({ id }) => id === ""));
  const back = targets.find(({ id }) => id === LOOP_BACK);
  return (
    <div
      className={styles.step}
      data-category={kind?.category ?? "unknown"}
      data-state={status?.state}
      data-trouble={trouble?.errors ? "error" : undefined}
      data-selected={selected || undefined}
    >
      <div className={styles.head}>
        <span className={styles.icon}>
          <Icon aria-hidden />
        </span>
        <div className={styles.words}>
          <p className={styles.name}>{reveal(nameOf(node))}</p>
          <p className={styles.about}>{reveal(summaryOf(node))}</p>
        </div>
        {status && <Sign status={status} />}
        {trouble && !status && <Count trouble={trouble} />}
      </div>
      {plain && <In handle={plain} editable={editable} />}
      {way && (
        <Handle
          type="source"
          id={sourceName("")}
          position={Position.Right}
          className={styles.headHandle}
          isConnectable={editable}
          title={texts.wayOut(way.name)}
        />
      )}
      {rows.map((row, place) => (
        <div key={row.id} className={styles.row}>
          {place === 0 && back && <In handle={back} editable={editable} />}
          <span>{reveal(row.name)}</span>
          <Handle
            type="source"
            id={sourceName(row.id)}
            position={Position.Right}
            isConnectable={editable}
            title={texts.wayOut(reveal(row.name))}
          />
        </div>
      ))}
      {node.type === "agent" && <Helpers data={data} />}
    </div>
  );
});

function In({ handle: { id, name }, editable }: { handle: Place; editable: boolean }) {
  return (
    <Handle
      type="target"
      id={targetName(id)}
      position={Position.Left}
      className={id === "" ? styles.headHandle : undefined}
      isConnectable={editable}
      title={name}
    />
  );
}

/** The handles for subagents: below an agent, and on top of a subagent. */
function Helpers({ data }: { data: Step["data"] }) {
  const fold = useContext(FoldContext);
  const { node, editable, helpers, collapsed, leads } = data;
  const words = collapsed ? texts.expand(helpers) : texts.collapse;
  return (
    <>
      <Handle
        type="target"
        id={HELPER}
        position={Position.Top}
        className={styles.helper}
        isConnectable={editable}
        title={texts.helps}
      />
      <Handle
        type="source"
        id={sourceName(SUBAGENT)}
        position={Position.Bottom}
        className={`${styles.helper} ${leads || editable ? "" : styles.unused}`}
        isConnectable={editable}
        title={handlesOf(node).sources.find(({ subagent }) => subagent)?.name}
      />
      {helpers > 0 && fold && (
        <button
          type="button"
          className={`${styles.fold} nodrag nopan`}
          tabIndex={-1}
          aria-expanded={!collapsed}
          aria-label={words}
          title={words}
          onClick={(event) => {
            event.stopPropagation();
            fold(node.id);
          }}
        >
          {collapsed ? <ChevronsUpDown aria-hidden /> : <ChevronsDownUp aria-hidden />}
          {collapsed && texts.more(helpers)}
        </button>
      )}
    </>
  );
}

function Sign({ status }: { status: NodeStatus }) {
  const Icon = SIGNS[status.state];
  return (
    <span className={styles.sign} data-state={status.state} title={texts.states[status.state]}>
      {status.note && <span>{status.note}</span>}
      <Icon aria-hidden />
    </span>
  );
}

function Count({ trouble }: { trouble: Trouble }) {
  const words = trouble.errors > 0 ? texts.problems(trouble.errors) : texts.hints(trouble.warnings);
  return (
    <span className={styles.sign} data-state={trouble.errors > 0 ? "failed" : "waiting"} title={words}>
      <TriangleAlert aria-hidden />
    </span>
  );
}

import { BaseEdge, type EdgeProps, getBezierPath, getSmoothStepPath } from "@xyflow/react";
import { memo } from "react";
import { reveal } from "../../words/format";
import styles from "./canvas.module.css";
import { HEAD } from "./geometry";
import type { Line } from "./shapes";

/** The minimum length of a connection that shows its label, in diagram coordinates. */
const NAMED_FROM = 180;
/** Edges that lead back go around the nodes between their ends. */
const TURN = 20;

/** An edge that leads back up starts below its source, so that it cannot be confused with edges that lead down there. */
const around = ({ sourceY, targetY }: EdgeProps<Line>) => (targetY < sourceY ? { centerY: sourceY + HEAD } : {});

/** A connection, with the name of its output; connections to subagents are dashed. */
export const LineEdge = memo(function LineEdge({ data, markerEnd, ...ends }: EdgeProps<Line>) {
  const back = ends.targetX < ends.sourceX + TURN && !data?.subagent;
  const [path, labelX, labelY] = back
    ? getSmoothStepPath({ ...ends, borderRadius: 12, ...around(ends) })
    : getBezierPath(ends);
  // A short connection would be hidden by its label, which is also shown beside its source.
  const far = Math.hypot(ends.targetX - ends.sourceX, ends.targetY - ends.sourceY) > NAMED_FROM;
  const kind = data?.subagent ? styles.subagent : data?.taken ? styles.taken : styles.line;
  return (
    <BaseEdge
      id={ends.id}
      path={path}
      className={kind}
      markerEnd={markerEnd}
      label={data?.way && far ? reveal(data.way) : undefined}
      labelX={labelX}
      labelY={labelY}
      labelShowBg
      labelBgPadding={[6, 3]}
      labelBgBorderRadius={6}
      interactionWidth={20}
    />
  );
});

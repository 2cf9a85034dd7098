import { BaseEdge, type EdgeProps, getBezierPath } from "@xyflow/react";
import { memo } from "react";
import { reveal } from "../../words/format";
import styles from "./canvas.module.css";
import type { Line } from "./shapes";

/** A connection, with the name of its way; to subagents it is dashed. */
export const LineEdge = memo(function LineEdge({ data, markerEnd, ...ends }: EdgeProps<Line>) {
  const [path, labelX, labelY] = getBezierPath(ends);
  const kind = data?.subagent ? styles.subagent : data?.taken ? styles.taken : styles.line;
  return (
    <BaseEdge
      id={ends.id}
      path={path}
      className={kind}
      markerEnd={markerEnd}
      label={data?.way ? reveal(data.way) : undefined}
      labelX={labelX}
      labelY={labelY}
      labelShowBg
      labelBgPadding={[6, 3]}
      labelBgBorderRadius={6}
      interactionWidth={20}
    />
  );
});

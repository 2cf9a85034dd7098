import { applyNodeChanges, type NodeChange } from "@xyflow/react";
import { useLayoutEffect, useState } from "react";
import { settled } from "./same";
import type { Step } from "./shapes";

/** The nodes for the library: from the document, with the measured sizes and current drag positions. */
export function useSteps(wanted: Step[]): [Step[], (changes: NodeChange<Step>[]) => void] {
  const [steps, setSteps] = useState(wanted);
  useLayoutEffect(() => {
    setSteps((before) => {
      const known = new Map(before.map((one) => [one.id, one]));
      return settled(
        before,
        wanted.map((one) => kept(one, known.get(one.id))),
      );
    });
  }, [wanted]);
  const change = (changes: NodeChange<Step>[]) => {
    const own = changes.filter((one) => one.type === "dimensions" || one.type === "position");
    if (own.length > 0) setSteps((before) => applyNodeChanges(own, before));
  };
  return [steps, change];
}

function kept(wanted: Step, before: Step | undefined): Step {
  if (before === undefined) return wanted;
  const moving = before.dragging ? { position: before.position, dragging: true } : {};
  return { ...wanted, measured: before.measured, ...moving };
}

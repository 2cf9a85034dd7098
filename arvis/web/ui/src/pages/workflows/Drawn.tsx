import { lazy, Suspense } from "react";
import { usePhone } from "../../parts/table";
import type { NodeStatus, Trouble } from "../../workflow/canvas/shapes";
import type { WorkflowDocument } from "../../workflow/types";
import { Preview } from "./Preview";
import styles from "./workflows.module.css";

const Canvas = lazy(async () => ({ default: (await import("../../workflow/canvas/Canvas")).Canvas }));

type Props = {
  document: WorkflowDocument;
  label: string;
  states?: Readonly<Record<string, NodeStatus>>;
  taken?: ReadonlySet<string>;
  troubles?: ReadonlyMap<string, Trouble>;
  chosen?: string;
  onChoose?: (id: string) => void;
  /** The step to bring into view. */
  follow?: string;
};

/** A read-only diagram of a workflow; on a phone, a small picture. */
export function Drawn({ document, label, states, taken, troubles, chosen = "", onChoose, follow }: Props) {
  const phone = usePhone();
  if (phone) {
    return (
      <div className={styles.small}>
        <Preview document={document} label={label} states={states} />
      </div>
    );
  }
  const selection = { nodes: new Set(chosen === "" ? [] : [chosen]), lines: new Set<string>() };
  return (
    <div className={styles.drawn}>
      <Suspense>
        <Canvas
          document={document}
          label={label}
          states={states}
          taken={taken}
          troubles={troubles}
          selection={selection}
          onSelect={({ nodes }) => onChoose?.([...nodes].at(-1) ?? "")}
          onOpen={onChoose}
          follow={follow}
        />
      </Suspense>
    </div>
  );
}

import { CircleX, Info } from "lucide-react";
import { reveal } from "../../../words/format";
import { nameOf } from "../../../workflow/canvas/look";
import type { Problem, WorkflowDocument } from "../../../workflow/types";
import styles from "./panel.module.css";
import { texts } from "./texts";

type Props = {
  document: WorkflowDocument;
  problems: readonly Problem[];
  /** Show the place of the problem. */
  onLook: (problem: Problem) => void;
};

/** Problems that prevent a run, and hints; a click shows the place. */
export function ProblemList({ document, problems, onLook }: Props) {
  if (problems.length === 0) return <p className="muted">{texts.problems.none}</p>;
  const names = new Map(document.nodes.map((node) => [node.id, reveal(nameOf(node))]));
  const sorted = problems.toSorted((a, b) => Number(b.severity === "error") - Number(a.severity === "error"));
  return (
    <ul className={styles.problems}>
      {sorted.map((problem) => {
        const Icon = problem.severity === "error" ? CircleX : Info;
        const where = problem.node === null ? texts.problems.whole : (names.get(problem.node) ?? problem.node);
        return (
          <li key={JSON.stringify(problem)}>
            <button type="button" onClick={() => onLook(problem)}>
              <Icon
                className={styles.sign}
                data-severity={problem.severity}
                aria-label={texts.problems[problem.severity]}
              />
              <span>
                <strong>{where}</strong>
                <span>{reveal(problem.message)}</span>
                <span className="muted">{reveal(problem.fix)}</span>
              </span>
            </button>
          </li>
        );
      })}
    </ul>
  );
}

import { CircleX, Info } from "lucide-react";
import { Failure } from "../../../parts/states";
import { reveal } from "../../../words/format";
import { nameOf } from "../../../workflow/canvas/look";
import type { Problem } from "../workflow";
import styles from "./panel.module.css";
import { texts } from "./texts";
import type { Editor } from "./useEditing";

type Props = {
  editor: Editor;
  /** Show the place of the problem. */
  onLook: (problem: Problem) => void;
};

/** Problems that prevent a run, and hints; a click shows the place. */
export function ProblemList({ editor, onLook }: Props) {
  const { problems, known, failure, retry } = editor;
  return (
    <>
      {failure && <Failure error={failure} retry={retry} />}
      {failure && problems.length > 0 && <p className="muted">{texts.problems.earlier}</p>}
      {problems.length > 0 && <List editor={editor} onLook={onLook} />}
      {problems.length === 0 && failure === null && (
        <p className="muted">{known ? texts.problems.none : texts.problems.checking}</p>
      )}
    </>
  );
}

function List({ editor: { document, problems }, onLook }: Props) {
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

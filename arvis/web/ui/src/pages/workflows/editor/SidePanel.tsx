import { CircleX, Info, Trash2, X } from "lucide-react";
import { type Ref, type RefObject, useEffect, useRef } from "react";
import { Button, IconButton } from "../../../parts/button";
import { TextArea, TextField } from "../../../parts/fields";
import { Failure } from "../../../parts/states";
import { reveal } from "../../../words/format";
import { nameOf } from "../../../workflow/canvas/look";
import { SETTINGS } from "../../../workflow/kinds";
import { handlesOf, kindOf } from "../../../workflow/node";
import type { Problem } from "../workflow";
import { FieldOf } from "./fields/FieldOf";
import { NodeForm } from "./NodeForm";
import styles from "./panel.module.css";
import { texts } from "./texts";
import type { Editor } from "./useEditing";

export type View = "form" | "problems";

type Props = {
  editor: Editor;
  view: View;
  disabled: boolean;
  onShow: (id: string) => void;
  onLook: (problem: Problem) => void;
  /** Return to the diagram. */
  onLeave: () => void;
  onClose: () => void;
  ref: Ref<HTMLElement>;
};

/** The side panel: the form of the selection, of the whole workflow if nothing is selected, or the problems. */
export function SidePanel(props: Props) {
  const { editor, view, onLeave, onClose, ref } = props;
  const { title, body, key } = contentOf(props);
  const box = useRef<HTMLDivElement>(null);
  useTop(box, key);
  const closes = view === "problems" || editor.state.chosen.nodes.size + editor.state.chosen.lines.size > 0;
  return (
    <aside
      ref={ref}
      className={styles.panel}
      aria-label={title}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        onLeave();
      }}
    >
      <header>
        <h2>{title}</h2>
        {closes && <IconButton icon={X} label={texts.panel.close} onClick={onClose} />}
      </header>
      <div ref={box} className={styles.panelBody}>
        {body}
      </div>
    </aside>
  );
}

function contentOf({ editor, view, disabled, onShow, onLook }: Props) {
  const { document, state, dispatch } = editor;
  const { nodes, lines } = state.chosen;
  if (view === "problems") {
    const body = <ProblemList editor={editor} onLook={onLook} />;
    return { key: "problems", title: texts.problems.title, body };
  }
  const node = nodes.size === 1 ? document.nodes.find(({ id }) => nodes.has(id)) : undefined;
  if (node !== undefined) {
    const title = kindOf(node)?.label ?? node.type;
    return { key: node.id, title, body: <NodeForm key={node.id} {...{ editor, node, disabled, onShow }} /> };
  }
  if (nodes.size > 1) {
    const body = <p className="muted">{texts.panel.manyHint}</p>;
    return { key: "many", title: texts.panel.many(nodes.size), body };
  }
  const line = lines.size > 0 ? document.connections.find(({ id }) => lines.has(id)) : undefined;
  if (line === undefined) {
    return { key: "about", title: texts.about.title, body: <AboutForm editor={editor} disabled={disabled} /> };
  }
  const from = document.nodes.find(({ id }) => id === line.source);
  const to = document.nodes.find(({ id }) => id === line.target);
  const way = from && handlesOf(from).sources.find(({ id }) => id === line.sourceHandle && id !== "");
  const words = [from ? nameOf(from) : line.source, way?.name ?? "", to ? nameOf(to) : line.target];
  const [one = "", how = "", other = ""] = words.map(reveal);
  const body = (
    <>
      <p>{texts.panel.lineAbout(one, how, other)}</p>
      {!disabled && (
        <Button
          label={texts.panel.disconnect}
          kind="danger"
          icon={Trash2}
          onClick={() => dispatch({ do: "remove", lines: [...lines] })}
        />
      )}
    </>
  );
  return { key: line.id, title: texts.panel.line, body };
}

/** Scroll a new form to its top. */
function useTop(box: RefObject<HTMLDivElement | null>, key: string): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says that the content is another one
  useEffect(() => {
    box.current?.scrollTo(0, 0);
  }, [key]);
}

type ProblemListProps = {
  editor: Editor;
  /** Show the place of the problem. */
  onLook: (problem: Problem) => void;
};

/** Problems that prevent a run, and hints; a click shows the place. */
function ProblemList({ editor, onLook }: ProblemListProps) {
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

function List({ editor: { document, problems }, onLook }: ProblemListProps) {
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

const NAME_LENGTH = 100;
const SLUG_LENGTH = 64;

/** The name and the settings of the workflow. */
function AboutForm({ editor, disabled }: { editor: Editor; disabled: boolean }) {
  const { document, dispatch, slug, setSlug, problems } = editor;
  const rest = () => dispatch({ do: "rest" });
  const errorOf = (field: string) => {
    const found = problems.find(
      (one) => one.node === null && one.connection === null && one.field === `settings.${field}`,
    );
    return found === undefined ? null : `${found.message} ${found.fix}`;
  };
  return (
    <>
      <TextField
        label={texts.about.name}
        value={document.name ?? ""}
        maxLength={NAME_LENGTH}
        disabled={disabled}
        onBlur={rest}
        onChange={(value) => dispatch({ do: "about", field: "name", value })}
      />
      <TextArea
        label={texts.about.description}
        value={document.description ?? ""}
        disabled={disabled}
        onBlur={rest}
        onChange={(value) => dispatch({ do: "about", field: "description", value })}
      />
      <TextField
        label={texts.about.slug}
        hint={texts.about.slugHint}
        value={slug}
        maxLength={SLUG_LENGTH}
        disabled={disabled}
        onChange={setSlug}
      />
      {SETTINGS.map((field) => (
        <FieldOf
          key={field.name}
          field={field}
          value={document.settings[field.name]}
          error={errorOf(field.name)}
          disabled={disabled}
          names={[]}
          onRest={rest}
          onChange={(value) => dispatch({ do: "settings", field: field.name, value })}
        />
      ))}
    </>
  );
}

import { ArrowLeft, Keyboard, Network, Play, Redo2, Save, Settings2, Undo2 } from "lucide-react";
import { Button, IconButton } from "../../../parts/button";
import { Status } from "../../../parts/show";
import { reveal } from "../../../words/format";
import { isRunnable } from "../workflow";
import styles from "./editor.module.css";
import { texts } from "./texts";
import type { Editor } from "./useEditing";
import { redo, undo } from "./useKeys";

type Props = {
  editor: Editor;
  id: string | null;
  editable: boolean;
  draft: boolean;
  busy: boolean;
  onArrange: () => void;
  onSettings: () => void;
  onProblems: () => void;
  onBack: () => void;
  onKeys: () => void;
  onSave: () => void;
  onRun: () => void;
};

/** The name, the state, and the actions for the whole workflow. */
export function Toolbar(props: Props) {
  const { editor, id, editable, onSettings, onProblems, onBack } = props;
  const { document, dirty } = editor;
  const state = id === null ? "new" : dirty ? "dirty" : "clean";
  return (
    <header className={styles.toolbar}>
      <IconButton icon={ArrowLeft} label={id === null ? texts.back : texts.backToIt} onClick={onBack} />
      <h1>{reveal(document.name || texts.newTitle)}</h1>
      {editable && <span className="muted">{texts.state[state]}</span>}
      <button type="button" className={styles.health} onClick={onProblems}>
        <Health editor={editor} />
      </button>
      <IconButton icon={Settings2} label={texts.settings} onClick={onSettings} />
      {editable && <Doings {...props} />}
    </header>
  );
}

/** The result of the newest check, or a note that the check failed. */
function Health({ editor: { problems, known, failure } }: { editor: Editor }) {
  const says = texts.problems;
  if (failure !== null) return <Status tone="plain">{says.unchecked}</Status>;
  if (!known) return <Status tone="plain">{says.checking}</Status>;
  const errors = problems.filter(({ severity }) => severity === "error").length;
  const hints = problems.length - errors;
  if (errors > 0) return <Status tone="trouble">{says.errors(errors)}</Status>;
  if (hints === 0) return <Status tone="good">{says.ready}</Status>;
  return (
    <>
      <Status tone="warn">{says.warned}</Status>
      <span className="muted">{says.warnings(hints)}</span>
    </>
  );
}

function Doings({ editor, draft, busy, onArrange, onKeys, onSave, onRun }: Props) {
  const { state, problems } = editor;
  const runs = isRunnable(problems);
  return (
    <div className={styles.tools} role="group" aria-label={texts.toolbar}>
      <IconButton icon={Undo2} label={texts.undo} disabled={state.past.length === 0} onClick={() => undo(editor)} />
      <IconButton icon={Redo2} label={texts.redo} disabled={state.future.length === 0} onClick={() => redo(editor)} />
      <IconButton icon={Network} label={texts.arrange} onClick={onArrange} />
      <IconButton icon={Keyboard} label={texts.keys} onClick={onKeys} />
      <Button label={draft ? texts.saveDraft : texts.save} icon={Save} busy={busy} onClick={onSave} />
      <Button
        label={texts.run}
        kind="primary"
        icon={Play}
        disabled={busy}
        className={runs ? "" : styles.refused}
        aria-disabled={!runs || undefined}
        title={runs ? undefined : texts.refused}
        onClick={onRun}
      />
    </div>
  );
}

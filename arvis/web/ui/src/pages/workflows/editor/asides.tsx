import { useState } from "react";
import { useLocation } from "wouter";
import { Button } from "../../../parts/button";
import { Dialog } from "../../../parts/dialog";
import { FormButtons } from "../../../parts/form";
import { clock } from "../../../words/format";
import { addressOf, type WorkflowDetail } from "../workflow";
import { type Base, forget, NEW, readKept } from "./base";
import styles from "./editor.module.css";
import type { useSaving } from "./saving";
import { texts } from "./texts";
import type { Editor } from "./useEditing";

/** Unsaved changes from an earlier session: the user can restore them. */
export function KeptChanges({ base, editor }: { base: Base; editor: Editor }) {
  const id = base.id ?? NEW;
  const [kept, setKept] = useState(() => {
    const found = readKept(id);
    return found && JSON.stringify(found.document) !== JSON.stringify(base.document) ? found : null;
  });
  if (kept === null || editor.dirty) return null;
  const take = () => {
    editor.dispatch({ do: "replace", document: kept.document });
    editor.setSlug(kept.slug);
    setKept(null);
  };
  const drop = () => {
    forget(id);
    setKept(null);
  };
  return (
    <div className={styles.note} role="alert">
      <p>{texts.kept.words(clock(kept.at))}</p>
      <Button label={texts.kept.take} onClick={take} />
      <Button label={texts.kept.drop} kind="quiet" onClick={drop} />
    </div>
  );
}

type Saving = ReturnType<typeof useSaving>;

type Props = { newer: WorkflowDetail; saving: Saving; onReload: (detail: WorkflowDetail) => void };

/** Another person saved first: both versions are kept until the user chooses. */
export function Conflict({ newer, saving, onReload }: Props) {
  const [, navigate] = useLocation();
  return (
    <Dialog title={texts.conflict.title} onClose={saving.settle}>
      <p>{texts.conflict.words}</p>
      <FormButtons>
        <Button
          label={texts.conflict.copy}
          kind="primary"
          onClick={() => saving.save("copy", (made) => navigate(addressOf(made.id, "edit")))}
        />
        <Button
          label={texts.conflict.reload}
          kind="danger"
          onClick={() => {
            forget(newer.id);
            onReload(newer);
          }}
        />
      </FormButtons>
    </Dialog>
  );
}

/** The keyboard shortcuts. */
export function KeysHelp({ onClose }: { onClose: () => void }) {
  const { rows } = texts.help;
  const keys: [string, string][] = [
    ["n", rows.n],
    ["← ↑ → ↓", rows.arrows],
    ["enter", rows.enter],
    ["esc", rows.escape],
    ["c", rows.c],
    ["delete", rows.delete],
    ["⌘D", rows.duplicate],
    ["⌘C ⌘X ⌘V", rows.copy],
    ["⌘A", rows.all],
    ["⌘Z ⇧⌘Z", rows.undo],
    ["⌘S", rows.save],
  ];
  return (
    <Dialog title={texts.help.title} onClose={onClose}>
      <dl className={styles.keys}>
        {keys.map(([key, words]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{words}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

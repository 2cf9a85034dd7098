import { useEffect, useRef, useState } from "react";
import { useLocation } from "wouter";
import { Button } from "../../../parts/button";
import { Dialog } from "../../../parts/dialog";
import { ChoiceField } from "../../../parts/fields";
import { Form, FormButtons } from "../../../parts/form";
import { clock, reveal } from "../../../words/format";
import { nameOf } from "../../../workflow/canvas/look";
import { handlesOf } from "../../../workflow/node";
import type { WorkflowConnection, WorkflowDocument, WorkflowNode } from "../../../workflow/types";
import { addressOf, type WorkflowDetail } from "../workflow";
import { type Base, forget, NEW, readKept } from "./base";
import styles from "./editor.module.css";
import type { useSaving } from "./saving";
import { texts } from "./texts";
import type { Editor } from "./useEditing";
import { targetsFor } from "./Ways";

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

type ConnectDialogProps = {
  document: WorkflowDocument;
  node: WorkflowNode;
  onConnect: (connection: Omit<WorkflowConnection, "id">, target: string) => void;
  onClose: () => void;
};

/** Connect a step by two choices: an output and a target. Connections that do not exist yet are offered first. */
export function ConnectDialog({ document, node, onConnect, onClose }: ConnectDialogProps) {
  const { sources } = handlesOf(node);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // The browser would focus the dialog's close button.
    const frame = requestAnimationFrame(() => box.current?.querySelector("select")?.focus());
    return () => cancelAnimationFrame(frame);
  }, []);
  const used = new Set(document.connections.filter(({ source }) => source === node.id).map((one) => one.sourceHandle));
  const [way, setWay] = useState((sources.find(({ id }) => !used.has(id)) ?? sources[0])?.id ?? "");
  const [chosen, setChosen] = useState("");
  const handle = sources.find(({ id }) => id === way);
  const targets = handle === undefined ? [] : targetsFor(document, node, handle);
  const entered = new Set(document.connections.map(({ target }) => target));
  const proposed = targets.find(([, , one]) => !entered.has(one.target)) ?? targets[0];
  const target = targets.find(([key]) => key === chosen) ?? proposed;
  return (
    <Dialog title={texts.connect.title(reveal(nameOf(node)))} onClose={onClose}>
      <div ref={box}>
        {sources.length === 0 ? (
          <p className="muted">{texts.connect.none}</p>
        ) : (
          <Form
            onSend={() => target && onConnect(target[2], target[1])}
            by={[]}
            save={texts.connect.yes}
            disabled={target === undefined}
          >
            {sources.length > 1 && (
              <ChoiceField
                label={texts.connect.way}
                value={way}
                options={sources.map((one) => [one.id, reveal(one.name)] as const)}
                onChange={setWay}
              />
            )}
            {target === undefined ? (
              <p className="muted">{texts.connect.none}</p>
            ) : (
              <ChoiceField
                label={texts.connect.target}
                value={target[0]}
                options={targets.map(([key, words]) => [key, words] as const)}
                onChange={setChosen}
              />
            )}
          </Form>
        )}
      </div>
    </Dialog>
  );
}

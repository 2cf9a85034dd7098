import { useEffect, useRef, useState } from "react";
import { useLocation } from "wouter";
import { useTitle } from "../../../frame/title";
import { Empty, Failure } from "../../../parts/states";
import { useUnsaved } from "../../../parts/unsaved";
import { reveal } from "../../../words/format";
import { Canvas, type CanvasHandle, type Selection } from "../../../workflow/canvas/Canvas";
import { nameOf } from "../../../workflow/canvas/look";
import { KINDS, type KindName } from "../../../workflow/kinds";
import { RunDialog } from "../RunDialog";
import { addressOf, HOME, isRunnable, type Problem, type WorkflowDetail } from "../workflow";
import { Conflict, ConnectDialog, KeptChanges, KeysHelp } from "./asides";
import type { Base } from "./base";
import { mayConnect, placeFor } from "./changes";
import { NOTHING_CHOSEN } from "./editing";
import styles from "./editor.module.css";
import { SidePanel, type View } from "./SidePanel";
import { StepPalette } from "./StepPalette";
import { useSaving } from "./saving";
import { Toolbar } from "./Toolbar";
import { texts } from "./texts";
import { useEditing } from "./useEditing";
import { removeChosen, removeLine, useKeys } from "./useKeys";

type Props = {
  base: Base;
  /** The version that another person saved since. */
  newer: WorkflowDetail | null;
  editable: boolean;
  onSaved: (base: Base, detail: WorkflowDetail) => void;
  /** Start again from the version that another person saved. */
  onReload: (detail: WorkflowDetail) => void;
};

/** The editor: the palette on the left, the diagram, and the form of the selection on the right. */
export function Editor({ base, newer, editable, onSaved, onReload }: Props) {
  const editor = useEditing(base);
  const { document, dispatch, state, say } = editor;
  const [view, setView] = useState<View>("form");
  const [open, setOpen] = useState<"keys" | "run" | null>(null);
  const [connecting, setConnecting] = useState<string | null>(null);
  const canvas = useRef<CanvasHandle>(null);
  const search = useRef<HTMLInputElement>(null);
  const panel = useRef<HTMLElement>(null);
  const [, navigate] = useLocation();
  const lift = useUnsaved(editable && editor.dirty, "kept");
  const saving = useSaving(base, editor, (saved, detail) => {
    lift();
    onSaved(saved, detail);
  });
  useTitle(document.name || texts.newTitle);
  useFresh(newer, editor.dirty, onReload);
  const choose = (chosen: Selection) => {
    setView("form");
    dispatch({ do: "choose", chosen });
  };
  const chooseNode = (id: string) => choose({ nodes: new Set([id]), lines: new Set() });
  const show = (id: string) => {
    chooseNode(id);
    canvas.current?.show(id);
  };
  const openForm = (id: string) => {
    chooseNode(id);
    focusField(panel, null);
  };
  const look = ({ node, field }: Problem) => {
    if (node === null) choose(NOTHING_CHOSEN);
    else show(node);
    focusField(panel, field);
  };
  const save = () => {
    if (editable && !saving.busy) saving.save("save");
  };
  const run = useRunning(
    editor,
    base,
    saving.save,
    () => setOpen("run"),
    () => setView("problems"),
  );
  const onKey = useKeys({
    editor,
    editable,
    canvas,
    save,
    find: () => search.current?.focus(),
    connect: setConnecting,
  });
  const add = useAdding(editor, canvas, setView);
  const removed = (key: string, line: string | null): boolean => {
    if (key !== "Delete" && key !== "Backspace") return false;
    if (line === null) return removeChosen(editor);
    const source = document.connections.find(({ id }) => id === line)?.source;
    removeLine(editor, line);
    if (source !== undefined) canvas.current?.show(source, true);
    return true;
  };
  const leavePanel = () => {
    setView("form");
    const [id] = state.chosen.nodes;
    if (id !== undefined) canvas.current?.show(id, true);
  };
  const node = document.nodes.find(({ id }) => id === connecting);
  return (
    <div className={styles.editor}>
      <Toolbar
        {...{ editor, editable, id: base.id, draft: saving.draft, busy: saving.busy }}
        onArrange={() => {
          dispatch({ do: "arrange" });
          canvas.current?.fit();
          say(texts.said.arranged);
        }}
        onSettings={() => {
          choose(NOTHING_CHOSEN);
          focusField(panel, null);
        }}
        onProblems={() => setView(view === "problems" ? "form" : "problems")}
        onBack={() => navigate(base.id === null ? HOME : addressOf(base.id))}
        onKeys={() => setOpen("keys")}
        onSave={save}
        onRun={run}
      />
      <p className="hidden" role="status">
        {editor.said}
      </p>
      {saving.error && <Failure error={saving.error} />}
      {editable ? <KeptChanges base={base} editor={editor} /> : <p className={styles.note}>{texts.readOnly}</p>}
      <div className={styles.work}>
        {editable && <StepPalette onAdd={add} search={search} />}
        <div className={styles.stage}>
          <Canvas
            ref={canvas}
            document={document}
            label={texts.canvas(reveal(document.name || texts.unnamed))}
            troubles={editor.troubles}
            selection={state.chosen}
            onSelect={choose}
            onOpen={openForm}
            onFold={editable ? (id) => dispatch({ do: "fold", id }) : undefined}
            onKey={(event, id, line) => onKey(event, id) || (editable && id === null && removed(event.key, line))}
            edit={
              editable
                ? {
                    move: (positions) => dispatch({ do: "move", positions }),
                    connect: (connection) => dispatch({ do: "connect", connection }),
                    mayConnect: (connection) => mayConnect(document, connection),
                    drop: (kind, at) => dispatch({ do: "add", kind: kind as KindName, at }),
                  }
                : undefined
            }
          />
          {document.nodes.length === 0 && (
            <div className={styles.blank}>
              <Empty title={texts.emptyCanvas} />
            </div>
          )}
        </div>
        <SidePanel
          ref={panel}
          {...{ editor, view, disabled: !editable, onShow: show, onLook: look, onLeave: leavePanel }}
          onClose={() => choose(NOTHING_CHOSEN)}
        />
      </div>
      {node && (
        <ConnectDialog
          document={document}
          node={node}
          onClose={() => {
            setConnecting(null);
            canvas.current?.show(node.id, true);
          }}
          onConnect={(connection, target) => {
            dispatch({ do: "connect", connection });
            say(texts.said.connected(reveal(nameOf(node)), target));
            setConnecting(null);
            canvas.current?.show(node.id, true);
          }}
        />
      )}
      {open === "keys" && <KeysHelp onClose={() => setOpen(null)} />}
      {open === "run" && base.id !== null && (
        <RunDialog workflow={{ id: base.id, name: document.name ?? "" }} onClose={() => setOpen(null)} />
      )}
      {saving.newer && <Conflict newer={saving.newer} saving={saving} onReload={onReload} />}
    </div>
  );
}

/** Changes of other people are loaded as long as nothing is changed here. */
function useFresh(newer: Props["newer"], dirty: boolean, onReload: Props["onReload"]): void {
  useEffect(() => {
    if (newer !== null && !dirty) onReload(newer);
  });
}

/** Add a step beside the selected one, else in the middle of the view. */
function useAdding(
  editor: ReturnType<typeof useEditing>,
  canvas: { current: CanvasHandle | null },
  setView: (view: View) => void,
) {
  const { document, dispatch, state, say } = editor;
  return (kind: KindName, focus: boolean) => {
    const middle = canvas.current?.middle() ?? { x: 0, y: 0 };
    const { at, id } = placeFor(document, kind, state.chosen.nodes, middle);
    setView("form");
    dispatch({ do: "add", kind, at });
    say(texts.said.added(KINDS[kind].label));
    canvas.current?.show(id, focus);
  };
}

/**
 * Save unsaved changes, then ask for the input; if there are problems, show them instead. If the check fails, saving shows
 * whether the workflow can run.
 */
function useRunning(
  editor: ReturnType<typeof useEditing>,
  base: Base,
  save: ReturnType<typeof useSaving>["save"],
  begin: () => void,
  refuse: () => void,
) {
  return async () => {
    if (!isRunnable((await editor.check()) ?? [])) refuse();
    else if (editor.dirty || base.id === null)
      void save("save", ({ runnable, version }) => (runnable === version ? begin() : refuse()));
    else begin();
  };
}

/** The panel's field with this name, else its first field, once it is rendered. */
function focusField(panel: { current: HTMLElement | null }, field: string | null): void {
  requestAnimationFrame(() => {
    const fields = panel.current?.querySelectorAll<HTMLElement>("input, textarea, select") ?? [];
    const named = field === null ? null : panel.current?.querySelector<HTMLElement>("[aria-invalid='true']");
    (named ?? fields[0])?.focus();
  });
}

import { type KeyboardEvent as ReactKeyboardEvent, useEffect, useRef } from "react";
import { isTyping } from "../../../parts/keys";
import { reveal } from "../../../words/format";
import type { CanvasHandle } from "../../../workflow/canvas/Canvas";
import { GRID } from "../../../workflow/canvas/geometry";
import { nameOf } from "../../../workflow/canvas/look";
import { type Clip, clipOf } from "./changes";
import { texts } from "./texts";
import type { Editor } from "./useEditing";

const CLIP = "arvis.workflow.clip";
const FAR = 5;
const ARROWS: Record<string, readonly [number, number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

type Doings = {
  editor: Editor;
  editable: boolean;
  canvas: { current: CanvasHandle | null };
  save: () => void;
  /** Focus the search field of the palette. */
  find: () => void;
  connect: (id: string) => void;
};

/** The editor's keyboard shortcuts. Those with ⌘ or Ctrl work everywhere; those for a step work while it has the focus. */
export function useKeys(doings: Doings): (event: ReactKeyboardEvent, node: string | null) => boolean {
  const latest = useRef(doings);
  latest.current = doings;
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (everywhere(event, latest.current)) event.preventDefault();
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, []);
  return (event, node) => (node === null ? false : onStep(event, node, latest.current));
}

function everywhere(event: KeyboardEvent, doings: Doings): boolean {
  const { editor, editable, find, save } = doings;
  const key = event.key.toLowerCase();
  if (!editable || event.altKey) return false;
  if (!event.metaKey && !event.ctrlKey) {
    if (isTyping(event.target) || event.key !== "n") return false;
    find();
    return true;
  }
  if (key === "s") {
    save();
    return true;
  }
  if (isTyping(event.target)) return false; // in text fields these keys belong to the text
  switch (key) {
    case "z":
      return event.shiftKey ? redo(editor) : undo(editor);
    case "y":
      return redo(editor);
    case "a":
      editor.dispatch({
        do: "choose",
        chosen: { nodes: new Set(editor.document.nodes.map(({ id }) => id)), lines: new Set() },
      });
      return true;
    case "c":
      return copy(editor);
    case "x":
      return copy(editor) && remove(editor, [...editor.state.chosen.nodes]);
    case "v":
      return paste(editor, readClip());
    case "d":
      return paste(editor, clipOf(editor.document, editor.state.chosen.nodes));
    default:
      return false;
  }
}

export function undo(editor: Editor): true {
  if (editor.state.past.length > 0) editor.say(texts.said.undone);
  editor.dispatch({ do: "undo" });
  return true;
}

export function redo(editor: Editor): true {
  if (editor.state.future.length > 0) editor.say(texts.said.redone);
  editor.dispatch({ do: "redo" });
  return true;
}

function copy(editor: Editor): boolean {
  const clip = clipOf(editor.document, editor.state.chosen.nodes);
  if (clip.nodes.length === 0 || document.getSelection()?.isCollapsed === false) return false;
  sessionStorage.setItem(CLIP, JSON.stringify(clip));
  editor.say(texts.said.copied(clip.nodes.length));
  return true;
}

function readClip(): Clip {
  return JSON.parse(sessionStorage.getItem(CLIP) ?? '{"nodes":[],"connections":[]}') as Clip;
}

function paste(editor: Editor, clip: Clip): boolean {
  if (clip.nodes.length === 0) return false;
  editor.dispatch({ do: "paste", clip });
  editor.say(texts.said.pasted(clip.nodes.length));
  return true;
}

function remove(editor: Editor, nodes: string[], lines: string[] = []): boolean {
  if (nodes.length === 0 && lines.length === 0) return false;
  editor.dispatch({ do: "remove", nodes, lines });
  editor.say(texts.said.removed(nodes.length));
  return true;
}

function onStep(event: ReactKeyboardEvent, id: string, { editor, editable, canvas, connect }: Doings): boolean {
  if (!editable || event.metaKey || event.ctrlKey || event.altKey) return false;
  const { document: drawn, state } = editor;
  // The whole selection moves if the focused step is part of it.
  const ids = state.chosen.nodes.has(id) ? [...state.chosen.nodes] : [id];
  const arrow = ARROWS[event.key];
  if (arrow !== undefined) {
    const step = GRID * (event.shiftKey ? FAR : 1);
    const node = drawn.nodes.find((one) => one.id === id);
    editor.dispatch({ do: "nudge", ids, by: { x: arrow[0] * step, y: arrow[1] * step } });
    if (node) editor.say(texts.said.moved(reveal(nameOf(node)), node.x + arrow[0] * step, node.y + arrow[1] * step));
    return true;
  }
  if (event.key === "c") {
    connect(id);
    return true;
  }
  if (event.key !== "Delete" && event.key !== "Backspace") return false;
  const place = drawn.nodes.findIndex((one) => one.id === id);
  const left = drawn.nodes.filter((one) => !ids.includes(one.id));
  remove(editor, ids, state.chosen.nodes.has(id) ? [...state.chosen.lines] : []);
  const next = left[Math.min(place, left.length - 1)];
  if (next) canvas.current?.show(next.id, true);
  return true;
}

export function removeLine(editor: Editor, line: string): void {
  editor.dispatch({ do: "remove", lines: [line] });
  editor.say(texts.said.disconnected);
}

/** The Delete key outside a step removes the selection, such as a connection. */
export function removeChosen(editor: Editor): boolean {
  const { nodes, lines } = editor.state.chosen;
  return remove(editor, [...nodes], [...lines]);
}

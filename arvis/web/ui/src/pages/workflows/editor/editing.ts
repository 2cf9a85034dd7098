/**
 * The actions of the editor as a pure function: the same actions give the same document, and each can be undone. This module
 * is independent of the screen.
 */

import type { WorkflowDocument } from "../../../workflow/types";
import { type Change, changed } from "./changes";

/** The number of changes that can be undone. */
export const MOST_STEPS = 200;

/** The ids of the selected nodes and connections. */
export type Chosen = { nodes: ReadonlySet<string>; lines: ReadonlySet<string> };

export type Editing = {
  past: readonly WorkflowDocument[];
  document: WorkflowDocument;
  future: readonly WorkflowDocument[];
  chosen: Chosen;
  /** Consecutive changes with the same mark form one undo step, such as the letters of a word. */
  mark: string;
};

export type Action =
  | Change
  | { do: "load"; document: WorkflowDocument }
  | { do: "choose"; chosen: Chosen }
  | { do: "rest" }
  | { do: "undo" }
  | { do: "redo" };

export const NOTHING_CHOSEN: Chosen = { nodes: new Set(), lines: new Set() };

export function begun(document: WorkflowDocument): Editing {
  return { past: [], document, future: [], chosen: NOTHING_CHOSEN, mark: "" };
}

export function editing(state: Editing, action: Action): Editing {
  switch (action.do) {
    case "load":
      return begun(action.document);
    case "choose":
      return { ...state, chosen: action.chosen };
    case "rest":
      return state.mark === "" ? state : { ...state, mark: "" };
    case "undo":
      return undone(state);
    case "redo":
      return redone(state);
    default:
      return stepped(state, changed(state.document, action), markOf(action), chosenAfter(state, action));
  }
}

function stepped(state: Editing, document: WorkflowDocument, mark: string, choose: Chooser): Editing {
  if (document === state.document) return state;
  const chosen = choose(document);
  if (mark !== "" && mark === state.mark) return { ...state, document, future: [], chosen };
  return { past: [...state.past, state.document].slice(-MOST_STEPS), document, future: [], chosen, mark };
}

function undone(state: Editing): Editing {
  const document = state.past.at(-1);
  if (document === undefined) return state;
  const future = [state.document, ...state.future];
  return { past: state.past.slice(0, -1), document, future, chosen: left(state.chosen, document), mark: "" };
}

function redone(state: Editing): Editing {
  const [document, ...future] = state.future;
  if (document === undefined) return state;
  const past = [...state.past, state.document];
  return { past, document, future, chosen: left(state.chosen, document), mark: "" };
}

function markOf(action: Change): string {
  switch (action.do) {
    case "set":
      return `set:${action.id}:${action.field}`;
    case "label":
      return `label:${action.id}`;
    case "row":
      return action.change.do === "set" ? `row:${action.id}:${action.change.row}:${action.change.field}` : "";
    case "settings":
    case "about":
      return `${action.do}:${action.field}`;
    case "nudge":
      return `nudge:${action.ids.join(",")}`;
    default:
      return "";
  }
}

type Chooser = (document: WorkflowDocument) => Chosen;

/** Added items are selected; removed ones are deselected. */
function chosenAfter(state: Editing, action: Change): Chooser {
  if (action.do !== "add" && action.do !== "paste") return (document) => left(state.chosen, document);
  const before = new Set(state.document.nodes.map(({ id }) => id));
  return ({ nodes }) => ({
    nodes: new Set(nodes.map(({ id }) => id).filter((id) => !before.has(id))),
    lines: new Set(),
  });
}

function left(chosen: Chosen, document: WorkflowDocument): Chosen {
  const nodes = document.nodes.map(({ id }) => id).filter((id) => chosen.nodes.has(id));
  const lines = document.connections.map(({ id }) => id).filter((id) => chosen.lines.has(id));
  if (nodes.length === chosen.nodes.size && lines.length === chosen.lines.size) return chosen;
  return { nodes: new Set(nodes), lines: new Set(lines) };
}

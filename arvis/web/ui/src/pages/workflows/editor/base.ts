import type { WorkflowDocument } from "../../../workflow/types";
import type { WorkflowDetail } from "../workflow";

/** The state that the editor loaded or saved last. `id` null: not saved yet. */
export type Base = { id: string | null; document: WorkflowDocument; slug: string; version: number };

export const NEW = "new";

/** A saved workflow in the editor's form: its name and description are edited with the document. */
export function baseOf({ id, document, name, description, slug, version }: WorkflowDetail): Base {
  const drawn = document as unknown as WorkflowDocument;
  return { id, document: { ...drawn, name, description }, slug, version };
}

/** The stored changes. `version`: the version that was edited; 0 for a workflow that is not saved yet. */
type Kept = { document: WorkflowDocument; slug: string; version: number; at: number };

const keyOf = (id: string) => `arvis.workflow.${id}`;

export function readKept(id: string): Kept | null {
  try {
    const kept = JSON.parse(localStorage.getItem(keyOf(id)) ?? "null") as Kept | null;
    return Array.isArray(kept?.document?.nodes) && Array.isArray(kept.document.connections) ? kept : null;
  } catch {
    return null;
  }
}

export function keep(id: string, kept: Kept): void {
  try {
    localStorage.setItem(keyOf(id), JSON.stringify(kept));
  } catch {
    // The browser has no space left: the changes are still on the screen.
  }
}

export function forget(id: string): void {
  localStorage.removeItem(keyOf(id));
}

/** Unsaved changes stay in the browser, one entry per workflow, until they are saved or discarded. */

import type { WorkflowDocument } from "../../../workflow/types";

/** The stored changes. `version`: the version that was edited; 0 for a workflow that is not saved yet. */
export type Kept = { document: WorkflowDocument; slug: string; version: number; at: number };

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

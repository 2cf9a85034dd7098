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

import { useEffect, useMemo, useReducer, useRef, useState } from "react";
import type { Trouble } from "../../../workflow/canvas/shapes";
import type { WorkflowDocument } from "../../../workflow/types";
import { troublesOf } from "../workflow";
import { type Base, forget, keep, NEW } from "./base";
import { type Action, begun, type Editing, editing } from "./editing";
import { type Checks, useChecks } from "./useChecks";

export type Editor = Checks & {
  state: Editing;
  dispatch: (action: Action) => void;
  document: WorkflowDocument;
  slug: string;
  setSlug: (slug: string) => void;
  /** True if there are unsaved changes. */
  dirty: boolean;
  troubles: ReadonlyMap<string, Trouble>;
  /** Announcements for screen readers. */
  said: string;
  say: (words: string) => void;
};

/** The edited document with its actions, problems and unsaved changes. */
export function useEditing(base: Base): Editor {
  const [state, dispatch] = useReducer(editing, base.document, begun);
  const [slug, setSlug] = useState(base.slug);
  const [said, say] = useState("");
  const { document } = state;
  const saved = useMemo(() => JSON.stringify(base.document), [base.document]);
  const written = useMemo(() => ({ document, text: JSON.stringify(document) }), [document]);
  const dirty = (slug.trim() !== "" && slug !== base.slug) || written.text !== saved;
  useKeeping(base, document, slug, dirty);
  const checks = useChecks(written, base.id);
  const troubles = useMemo(() => troublesOf(checks.problems), [checks.problems]);
  return { ...checks, state, dispatch, document, slug, setSlug, dirty, troubles, said, say };
}

function useKeeping({ id: saved, version }: Base, document: WorkflowDocument, slug: string, dirty: boolean): void {
  const id = saved ?? NEW;
  const touched = useRef(false);
  useEffect(() => {
    if (dirty) {
      touched.current = true;
      keep(id, { document, slug, version, at: Date.now() });
    } else if (touched.current) forget(id); // changes of an earlier session stay until the user decides
  }, [id, version, document, slug, dirty]);
}

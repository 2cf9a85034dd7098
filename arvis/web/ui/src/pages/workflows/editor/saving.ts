import { useState } from "react";
import { type ApiError, call } from "../../../api/client";
import { useSend } from "../../../api/hooks";
import type { WorkflowDocument } from "../../../workflow/types";
import { isRunnable, type WorkflowDetail } from "../workflow";
import { type Base, forget, NEW } from "./base";
import { texts } from "./texts";
import type { Editor } from "./useEditing";

type Kind = "save" | "copy";
type Then = (detail: WorkflowDetail) => void;

/**
 * Save as a version that runs if there are no problems, else as a draft. Refused changes stay here, and a version saved by
 * another person is not overwritten.
 */
export function useSaving(base: Base, editor: Editor, onSaved: (base: Base, detail: WorkflowDetail) => void) {
  const create = useSend("POST /api/workflows", { quiet: true });
  const change = useSend("PATCH /api/workflows/{workflow}", { quiet: true });
  const [error, setError] = useState<ApiError | null>(null);
  const [newer, setNewer] = useState<WorkflowDetail | null>(null);
  // The server can find errors that the check did not report, such as a name that was removed later. Then a draft is offered.
  const [refused, setRefused] = useState<WorkflowDocument | null>(null);
  const { document, slug } = editor;
  const draft = !isRunnable(editor.problems) || refused === document;
  // The newest changes are checked before they are saved. If the check fails, they are saved as the button says.
  const [checking, setChecking] = useState(false);

  const save = async (kind: Kind, then?: Then) => {
    const sent = document;
    setChecking(true);
    const found = await editor.check();
    setChecking(false);
    const named = sent.name?.trim() || texts.unnamed;
    const name = kind === "copy" ? texts.conflict.copyName(named) : named;
    const wrong = found === null ? draft : !isRunnable(found) || refused === sent;
    const body = { name, description: sent.description ?? "", document: sent as never, draft: wrong };
    const onSuccess = (detail: WorkflowDetail) => {
      setError(null);
      forget(base.id ?? NEW);
      // The server derived a slug from the name; show it in the field.
      if (kind === "save" && slug.trim() === "") editor.setSlug(detail.slug);
      onSaved({ id: detail.id, document: sent, slug: detail.slug, version: detail.version }, detail);
      then?.(detail);
    };
    const onError = (failed: ApiError) => {
      if (failed.status === 422) setRefused(sent);
      if (failed.code !== "saved_meanwhile" || base.id === null) return setError(failed);
      void call("GET /api/workflows/{workflow}", { path: { workflow: base.id } }).then(setNewer, () =>
        setError(failed),
      );
    };
    const label = slug.trim() === "" || slug === base.slug || kind === "copy" ? {} : { slug: slug.trim() };
    if (base.id === null || kind === "copy") {
      create.mutate({ body: { ...body, ...label } }, { onSuccess, onError });
    } else {
      const path = { workflow: base.id };
      change.mutate({ path, body: { ...body, ...label, version: base.version } }, { onSuccess, onError });
    }
  };
  return {
    save,
    draft,
    error,
    busy: checking || create.isPending || change.isPending,
    /** The version that another person saved meanwhile. */
    newer,
    settle: () => setNewer(null),
  };
}

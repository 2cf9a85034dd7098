import { hashKey, QueryObserver, type QueryObserverResult, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useReducer, useRef, useState } from "react";
import { type ApiError, call } from "../../../api/client";
import type { Trouble } from "../../../workflow/canvas/shapes";
import type { WorkflowDocument } from "../../../workflow/types";
import { type Problem, troublesOf } from "../workflow";
import { type Base, forget, keep, NEW } from "./base";
import { type Action, begun, type Editing, editing } from "./editing";

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

const CHECK = "POST /api/workflows/validate";
/** A document is checked this long after its last change, in ms. */
const DELAY_MS = 300;
const NOTHING: Result = { problems: [], known: false, failure: null };

/** A document with its JSON: documents with equal JSON have the same problems. */
type Written = { document: WorkflowDocument; text: string };

type Checks = {
  /** The problems in the newest answer. Until the current document is checked, they are those of an earlier document. */
  problems: readonly Problem[];
  /** True if there was an answer. */
  known: boolean;
  /** The reason why the newest check failed. A change, or the return of the connection, starts another one. */
  failure: ApiError | null;
  retry: () => void;
  /** Check the current document now. Returns null if that fails, because no work may depend on a check. */
  check: () => Promise<readonly Problem[] | null>;
};

type Result = Pick<Checks, "problems" | "known" | "failure">;

/** `workflow`: the id of the saved workflow; null if it is not saved yet. */
function useChecks(written: Written, workflow: string | null): Checks {
  const client = useQueryClient();
  // Rendering a large diagram is slow, so the component renders only if the result changes, not with each step of a request.
  const [observer] = useState(
    () => new QueryObserver<readonly Problem[], ApiError>(client, checkOf(written, workflow)),
  );
  const [newest, setNewest] = useState<Result>(NOTHING);
  const text = useRef(written.text);
  text.current = written.text;
  const take = useCallback(({ data, error }: QueryObserverResult<readonly Problem[], ApiError>) => {
    setNewest((before) => (error === null ? answered(before, data) : { ...before, failure: error }));
  }, []);
  useEffect(
    () => observer.subscribe((found) => observer.options.queryKey?.[3] === text.current && take(found)),
    [observer, take],
  );
  useEffect(() => {
    const query = checkOf(written, workflow);
    if (hashKey(query.queryKey) === hashKey(observer.options.queryKey ?? [])) return take(observer.getCurrentResult());
    const timer = window.setTimeout(() => observer.setOptions(query), DELAY_MS);
    return () => window.clearTimeout(timer);
  }, [observer, take, written, workflow]);
  return {
    ...newest,
    retry: () => void observer.refetch(),
    check: () => {
      observer.setOptions(checkOf(written, workflow));
      return client.fetchQuery(checkOf(written, workflow)).catch(() => null);
    },
  };
}

/** The result after an answer; undefined: there is none yet. An equal result is the same object. */
function answered(before: Result, problems: readonly Problem[] | undefined): Result {
  if (problems === undefined) return before;
  const same = before.known && before.failure === null && JSON.stringify(before.problems) === JSON.stringify(problems);
  return same ? before : { problems, known: true, failure: null };
}

/**
 * A check as a query: the answer of an outdated document is cancelled or ignored, because its key differs. The topic is
 * `names`, because a check depends on the names of agents, tools and workflows: when they change, it is repeated.
 */
function checkOf({ document, text }: Written, workflow: string | null) {
  const body = { document: document as never, ...(workflow !== null && { workflow }) };
  return {
    queryKey: ["names", CHECK, workflow, text],
    queryFn: async ({ signal }: { signal: AbortSignal }): Promise<readonly Problem[]> =>
      (await call(CHECK, { body }, { signal })).problems,
    networkMode: "always" as const, // offline, it fails instead of waiting
    retry: false,
    gcTime: 0, // the answers of outdated documents are not needed again
  };
}

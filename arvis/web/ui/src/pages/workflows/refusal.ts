import type { ApiError } from "../../api/client";
import type { Problem } from "./workflow";

/** The problems for which a document was refused. */
export function problemsOf(error: ApiError | null): readonly Problem[] {
  const found = error?.rest.problems;
  return Array.isArray(found) ? (found as Problem[]) : [];
}

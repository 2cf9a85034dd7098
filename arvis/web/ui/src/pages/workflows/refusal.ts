import type { ApiError } from "../../api/client";
import type { Problem } from "./workflow";

/** The problems for which the server refused a document. */
export function problemsOf(error: ApiError | null): readonly Problem[] {
  const found = error?.rest.problems;
  return Array.isArray(found) ? (found as Problem[]) : [];
}

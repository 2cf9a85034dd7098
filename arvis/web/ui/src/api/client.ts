/** API calls: typed by route, with one error form, and with writes that can safely be repeated. */

import type { Answer, Request, Route } from "./types";

/**
 * The API's refusal: message, reason and fix. `status` 0: the API could not be reached. `seconds`: the delay before another
 * attempt may succeed, if the API gives one.
 */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly fix: string,
    readonly seconds: number | null = null,
    /** Further fields of an error response, such as the problems of a document. */
    readonly rest: Readonly<Record<string, unknown>> = {},
  ) {
    super(message);
  }
}

const TOO_MANY = 429;

type Loose = { path?: Record<string, string>; query?: Record<string, unknown>; body?: unknown };

/** Return the address of a route: `addressOf("GET /api/jobs/{job}", { path: { job: "01…" } })`. */
export function addressOf<R extends Route>(route: R, request: Request<R>): string {
  const { path = {}, query = {} } = request as Loose;
  const pattern = route.slice(route.indexOf(" ") + 1);
  const filled = pattern.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ""));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== "") search.set(name, String(value));
  }
  return search.size === 0 ? filled : `${filled}?${search}`;
}

/**
 * Call a route. Throws `ApiError`. A write carries an idempotency key, so that a second attempt after a lost response has no
 * second effect.
 */
export async function call<R extends Route>(
  route: R,
  request: Request<R>,
  options: { signal?: AbortSignal; key?: string } = {},
): Promise<Answer<R>> {
  const { body } = request as Loose;
  const headers: Record<string, string> = {};
  if (options.key !== undefined) headers["Idempotency-Key"] = options.key;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  return send(route, request, { headers, body: body === undefined ? undefined : JSON.stringify(body), ...options });
}

/** Call a route whose body is a file. Throws `ApiError`. */
export function upload<R extends Route>(route: R, request: Request<R>, file: Blob): Promise<Answer<R>> {
  return send(route, request, { headers: { "Content-Type": "application/octet-stream" }, body: file });
}

type Sent = { headers: Record<string, string>; body?: BodyInit; signal?: AbortSignal };

async function send<R extends Route>(route: R, request: Request<R>, sent: Sent): Promise<Answer<R>> {
  const method = route.slice(0, route.indexOf(" "));
  const headers = { ...sent.headers, "X-Arvis-Request": "1" };
  const response = await reached(() =>
    fetch(addressOf(route, request), { method, headers, body: sent.body, signal: sent.signal }),
  );
  if (!response.ok) throw await refusal(response);
  // If the daemon crashes while it sends a response, the response is cut off.
  return reached(() => response.json() as Promise<Answer<R>>);
}

/** Throws `ApiError` if the connection is lost during the work. */
async function reached<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(
      0,
      "unreachable",
      "Arvis does not answer.",
      "Check that Arvis is running. This page tries again by itself.",
    );
  }
}

async function refusal(response: Response): Promise<ApiError> {
  try {
    const { error, ...rest } = (await response.json()) as { error: { code: string; message: string; fix: string } };
    const later = response.status === TOO_MANY ? Number(response.headers.get("Retry-After") ?? "") : 0;
    return new ApiError(response.status, error.code, error.message, error.fix, later > 0 ? later : null, rest);
  } catch {
    return new ApiError(
      response.status,
      "unreadable",
      `The response with status ${response.status} could not be read.`,
      "Try again.",
    );
  }
}

/** Return the bytes of a file in base64, as a JSON body contains them. Rejects if the file cannot be read. */
export function base64(file: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => {
      const address = String(reader.result);
      resolve(address.slice(address.indexOf(",") + 1));
    });
    reader.addEventListener("error", () => reject(reader.error));
    reader.readAsDataURL(file);
  });
}

/** A text of 128 random bits. Works over plain HTTP, where `crypto.randomUUID` is missing. */
export function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

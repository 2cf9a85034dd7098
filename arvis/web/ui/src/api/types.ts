import type { Routes } from "./routes";

/** A route as named in the OpenAPI document: `GET /api/jobs/{job}`. */
export type Route = keyof Routes;
export type Reading = Extract<Route, `GET ${string}`>;
export type Writing = Exclude<Route, Reading>;

/** A part of a route; a route without it takes an empty one. */
type Of<R extends Route, Name extends string> = Routes[R] extends { [N in Name]: infer Value }
  ? Value
  : Record<string, never>;

export type Query<R extends Route> = Of<R, "query">;
export type Body<R extends Route> = Of<R, "body">;
export type Answer<R extends Route> = Routes[R]["answer"];

/** An item of a list: `Item<"GET /api/jobs">` is a job. */
export type Item<R extends Route> = Answer<R> extends { items: (infer One)[] } ? One : never;

/** The routes that return a paginated list. */
export type Listing = {
  [R in Reading]: Answer<R> extends { items: unknown[]; nextCursor: string | null } ? R : never;
}[Reading];

type Part<Name extends string, Value> =
  Value extends Record<string, never>
    ? { [N in Name]?: undefined }
    : Record<string, never> extends Value
      ? { [N in Name]?: Value }
      : { [N in Name]: Value };

/** The parameters of a call. Parts that the route does not have are rejected by the compiler. */
export type Request<R extends Route> = Part<"path", Of<R, "path">> & { query?: Query<R> } & Part<"body", Body<R>>;

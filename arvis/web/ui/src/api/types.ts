import type { Routes } from "./routes";

/** A route as named in the OpenAPI document: `GET /api/jobs/{job}`. */
export type Route = keyof Routes;
export type Reading = Extract<Route, `GET ${string}`>;
export type Writing = Exclude<Route, Reading>;

export type Path<R extends Route> = Routes[R]["path"];
export type Query<R extends Route> = Routes[R]["query"];
export type Body<R extends Route> = Routes[R]["body"];
export type Answer<R extends Route> = Routes[R]["answer"];

/** An item of a list: `Item<"GET /api/jobs">` is a job. */
export type Item<R extends Route> = Answer<R> extends { items: (infer One)[] } ? One : never;

/** The routes that return a paginated list. */
export type Listing = {
  [R in Reading]: Answer<R> extends { items: unknown[]; nextCursor: string | null } ? R : never;
}[Reading];

type Part<Name extends string, Value> = Value extends undefined
  ? { [N in Name]?: undefined }
  : Value extends Record<string, never>
    ? { [N in Name]?: undefined }
    : Record<string, never> extends Value
      ? { [N in Name]?: Value }
      : { [N in Name]: Value };

/** The parameters of a call. Parts that the route does not have are rejected by the compiler. */
export type Request<R extends Route> = Part<"path", Path<R>> & { query?: Query<R> } & Part<"body", Body<R>>;

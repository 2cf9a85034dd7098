/** The API in components. Data is refreshed by notices of the socket (`live.tsx`), never by polling. */

import {
  MutationCache,
  QueryCache,
  QueryClient,
  type QueryKey,
  type UseQueryResult,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { useCallback, useRef } from "react";
import { useToast } from "../parts/toast";
import { ApiError, call, randomId } from "./client";
import { WHO } from "./session";
import type { Answer, Item, Listing, Query, Reading, Request, Writing } from "./types";

/** The topic of a query, as the socket's notices name it: `/api/jobs/{job}` has the topic `jobs`. */
export function topicOf(route: string): string {
  return route.split("/")[2] ?? "";
}

export function makeQueryClient(): QueryClient {
  // A login may be ended elsewhere at any moment: after a refusal, check who is logged in.
  const refused = (error: unknown) => {
    if (error instanceof ApiError && error.status === 401) void client.invalidateQueries({ queryKey: WHO });
  };
  const client: QueryClient = new QueryClient({
    queryCache: new QueryCache({ onError: refused }),
    mutationCache: new MutationCache({ onError: refused }),
    defaultOptions: {
      queries: {
        staleTime: 60_000,
        refetchOnWindowFocus: false, // the socket reports changes
        retry: (count, error) => count < 3 && error instanceof ApiError && (error.status === 0 || error.status >= 500),
      },
      mutations: { retry: (count, error) => count < 2 && error instanceof ApiError && error.status === 0 },
    },
  });
  return client;
}

type Found<R extends Reading> = UseQueryResult<Answer<R>, ApiError>;

/** Load a route, and load it again when the socket reports a change of its topic. `null`: do not load now. */
export function useApi<R extends Reading>(route: R, request: Request<R> | null): Found<R> {
  return useQuery<Answer<R>, ApiError>({
    queryKey: [topicOf(route), route, request],
    queryFn: ({ signal }) => call(route, request as Request<R>, { signal }),
    enabled: request !== null,
    placeholderData: (before: unknown) => before as never,
  });
}

/**
 * The maximum number of loaded list pages that a notice refreshes. If more pages are loaded, only the first page is loaded
 * again, when the reader returns to the top.
 */
const FRESH_PAGES = 3;

/** Reload the displayed data of a topic. */
export function readAgain(client: QueryClient, topic: string): Promise<void> {
  return client.invalidateQueries({
    queryKey: [topic],
    predicate: (query) => pagesOf(query.state.data) <= FRESH_PAGES,
  });
}

function pagesOf(data: unknown): number {
  const pages = (data as { pages?: unknown[] } | undefined)?.pages;
  return pages?.length ?? 1;
}

/** A paginated list. */
export type Pages<T> = {
  rows: T[];
  error: ApiError | null;
  loading: boolean;
  /** Load the next page; null if there is none. */
  more: (() => void) | null;
  retry: () => void;
  /** Reload a long list from its first page, because its reader has returned to the top. */
  renew?: () => void;
};

/** All pages of a list that were requested so far. */
export function useList<R extends Listing>(route: R, query: Query<R>, path?: Record<string, string>): Pages<Item<R>> {
  const client = useQueryClient();
  const queryKey: QueryKey = [topicOf(route), route, { path, query }];
  const found = useInfiniteQuery({
    queryKey,
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      call(route, { path, query: { limit: 100, ...(query as object), cursor: pageParam } } as never, {
        signal,
      }) as Promise<{ items: Item<R>[]; nextCursor: string | null }>,
    getNextPageParam: (last) => last.nextCursor ?? undefined,
    placeholderData: (before) => before,
  });
  return {
    rows: found.data?.pages.flatMap((page) => page.items) ?? [],
    error: (found.error as ApiError | null) ?? null,
    loading: found.isPending || found.isFetchingNextPage,
    more: found.hasNextPage && !found.isFetchingNextPage ? () => void found.fetchNextPage() : null,
    retry: () => void found.refetch(),
    renew: () => {
      if (pagesOf(found.data) <= FRESH_PAGES) return;
      client.setQueryData<typeof found.data>(
        queryKey,
        (long) => long && { pages: long.pages.slice(0, 1), pageParams: [undefined] },
      );
      void client.invalidateQueries({ queryKey });
    },
  };
}

/** Callbacks after a write. */
type Then<T> = { onSuccess?: (answer: T) => void; onError?: (error: ApiError) => void; onSettled?: () => void };

/** A write. A refusal is shown as a toast unless `quiet`; afterwards the data of the same topic is reloaded. */
export function useSend<R extends Writing>(route: R, options: { quiet?: boolean; done?: string } = {}) {
  const client = useQueryClient();
  const { tell, fail } = useToast();
  const keys = useRef(new WeakMap<object, string>());
  const mutation = useMutation<Answer<R>, ApiError, Request<R>>({
    mutationFn: (request) => {
      // The library's own retries pass the same object: they must not count as two writes.
      const key = keys.current.get(request) ?? randomId();
      keys.current.set(request, key);
      return call(route, request, { key });
    },
    onSuccess: () => {
      if (options.done !== undefined) tell(options.done);
    },
    onError: (error) => {
      if (!options.quiet) fail(error);
    },
    onSettled: () => client.invalidateQueries({ queryKey: [topicOf(route)] }),
  });
  // The library calls callbacks only while the component is mounted, and a notice of the socket may remove the component
  // before the response arrives.
  const { mutateAsync } = mutation;
  const mutate = useCallback(
    (request: Request<R>, then: Then<Answer<R>> = {}) => {
      void mutateAsync(request)
        .then(then.onSuccess, then.onError ?? (() => {}))
        .finally(then.onSettled);
    },
    [mutateAsync],
  );
  return { ...mutation, mutate };
}

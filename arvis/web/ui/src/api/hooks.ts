/** The API in components. What is read stays fresh by the socket's notices (`live.tsx`), never by asking again and again. */

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

/** What a piece of data is about, as the socket's notices name it: `/api/jobs/{job}` is about `jobs`. */
export function topicOf(route: string): string {
  return route.split("/")[2] ?? "";
}

export function makeQueryClient(): QueryClient {
  // A login may end at any moment, by a word from elsewhere: whoever is refused asks who is logged in.
  const refused = (error: unknown) => {
    if (error instanceof ApiError && error.status === 401) void client.invalidateQueries({ queryKey: WHO });
  };
  const client: QueryClient = new QueryClient({
    queryCache: new QueryCache({ onError: refused }),
    mutationCache: new MutationCache({ onError: refused }),
    defaultOptions: {
      queries: {
        staleTime: 60_000,
        refetchOnWindowFocus: false, // the socket tells what has changed
        retry: (count, error) => count < 3 && error instanceof ApiError && (error.status === 0 || error.status >= 500),
      },
      mutations: { retry: (count, error) => count < 2 && error instanceof ApiError && error.status === 0 },
    },
  });
  return client;
}

type Found<R extends Reading> = UseQueryResult<Answer<R>, ApiError>;

/** Read a route; it is read again when the socket says that its topic has changed. `null`: not now. */
export function useApi<R extends Reading>(route: R, request: Request<R> | null): Found<R> {
  return useQuery<Answer<R>, ApiError>({
    queryKey: [topicOf(route), route, request],
    queryFn: ({ signal }) => call(route, request as Request<R>, { signal }),
    enabled: request !== null,
    placeholderData: (before: unknown) => before as never,
  });
}

/** So many pages of a list are read again at every notice; a reader who has scrolled further gets the first one anew when they come
 * back to the top. */
const FRESH_PAGES = 3;

/** Read again what is shown of a topic. */
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

/** A list that comes page by page. */
export type Pages<T> = {
  rows: T[];
  error: ApiError | null;
  loading: boolean;
  /** Whether there is more, and how to get it. */
  more: (() => void) | null;
  retry: () => void;
  /** Read a long list from its first page on: its reader has come back to the top. */
  renew?: () => void;
};

/** All pages of a list that were asked for so far. */
export function useList<R extends Listing>(route: R, query: Query<R>, path?: Record<string, string>): Pages<Item<R>> {
  const client = useQueryClient();
  const queryKey: QueryKey = [topicOf(route), route, { path, query }];
  const found = useInfiniteQuery({
    queryKey,
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      call(route, { path, query: { limit: 100, ...query, cursor: pageParam } } as never, { signal }) as Promise<{
        items: Item<R>[];
        nextCursor: string | null;
      }>,
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

/** What follows a write. */
type Then<T> = { onSuccess?: (answer: T) => void; onError?: (error: ApiError) => void; onSettled?: () => void };

/** A write. A refusal is shown as a toast unless `quiet`; afterwards what belongs to the same topic is read again. */
export function useSend<R extends Writing>(route: R, options: { quiet?: boolean; done?: string } = {}) {
  const client = useQueryClient();
  const { tell, fail } = useToast();
  const keys = useRef(new WeakMap<object, string>());
  const mutation = useMutation<Answer<R>, ApiError, Request<R>>({
    mutationFn: (request) => {
      // The library's own tries of one call hand over the same object: they must not count as two writes.
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
  // The library calls back only while the component stands, and a notice of the socket may take it away before the answer is here.
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

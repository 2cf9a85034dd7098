import { useLocation, useRoute, useSearch } from "wouter";

/** In place of an id in the address: a new item is being created. */
export const NEW = "new";

/** The id in the address of the detail that is open beside a list (`/queue/:id`). Opening and closing keep the list's filters. */
export function useDetail(base: string): { id: string | null; open: (id: string) => void; close: () => void } {
  const [, params] = useRoute<{ id: string }>(`${base}/:id`);
  const [, navigate] = useLocation();
  const search = useSearch();
  const behind = search === "" ? "" : `?${search}`;
  return {
    id: params?.id ?? null,
    open: (id) => navigate(`${base}/${encodeURIComponent(id)}${behind}`),
    close: () => navigate(`${base}${behind}`),
  };
}

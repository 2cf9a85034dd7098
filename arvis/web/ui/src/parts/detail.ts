import { useLocation, useRoute, useSearch } from "wouter";

/** The thing whose detail is open beside a list, as the address says: `/queue/:id`. The filters of the list stay. */
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

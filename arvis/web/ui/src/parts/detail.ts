import { useLocation, useRoute, useSearch } from "wouter";

/** The item whose detail is open beside a list, from the address: `/queue/:id`. The filters of the list are kept. */
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

import { useLocation, useRoute, useSearch } from "wouter";

/** The text in place of an id in the address while a new item is created. */
export const NEW = "new";

type Detail = {
  id: string | null;
  addressOf: (id: string) => string;
  open: (id: string) => void;
  close: () => void;
};

/** The id in the address of the detail that is open beside a list (`/queue/:id`). Opening and closing keep the list's filters. */
export function useDetail(base: string): Detail {
  const [, params] = useRoute<{ id: string }>(`${base}/:id`);
  const [, navigate] = useLocation();
  const search = useSearch();
  const behind = search === "" ? "" : `?${search}`;
  const addressOf = (id: string) => `${base}/${encodeURIComponent(id)}${behind}`;
  return {
    id: params?.id ?? null,
    addressOf,
    open: (id) => navigate(addressOf(id)),
    close: () => navigate(`${base}${behind}`),
  };
}

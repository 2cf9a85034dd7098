/** A resource of the API on its page: the list of its items, and the sheet of one of them beside it. */

import { Plus } from "lucide-react";
import { Fragment, type ReactNode, useState } from "react";
import { useLocation, useRoute, useSearch } from "wouter";
import type { Pages } from "../api/hooks";
import { ButtonLink } from "./button";
import { Page, Sheet } from "./page";
import { type Found, Loaded } from "./states";
import { type Column, EmptyList, type Selection, Table } from "./table";

/** The text in place of an id in the address while a new item is created. */
export const NEW = "new";

type Detail = { id: string | null; addressOf: (id: string) => string; open: (id: string) => void; close: () => void };

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

type ListTexts = {
  title: string;
  about?: string;
  add?: string;
  empty: string;
  emptyWhy?: string;
  noMatch?: string;
  noMatchWhy?: string;
};

/** The functions that open and close the sheet of an item. */
export type Opening = { onOpen: (id: string) => void; onClose: () => void };

type ResourcePageProps<T> = {
  home: string;
  texts: ListTexts;
  /** The accessible name of the list. */
  label?: string;
  pages: Pages<T>;
  columns: readonly Column<T>[];
  idOf: (row: T) => string;
  sheet: (id: string, opening: Opening) => ReactNode;
  /** The user may create an item: the page and the empty list have a button. */
  mayAdd?: boolean;
  /** The first step of an empty list, instead of the button. */
  action?: ReactNode;
  filters?: ReactNode;
  filtered?: boolean;
  selection?: Selection;
  /** What precedes the list. */
  children?: ReactNode;
};

/** A page with a list. The address of an item, or of a new one, is below `home`; there its sheet is open. */
export function ResourcePage<T>({
  home,
  texts,
  label = texts.title,
  pages,
  columns,
  idOf,
  sheet,
  mayAdd = false,
  action,
  filters,
  filtered = false,
  selection,
  children,
}: ResourcePageProps<T>) {
  const { id, addressOf, open, close } = useDetail(home);
  const add = mayAdd && <ButtonLink label={texts.add} kind="primary" icon={Plus} href={addressOf(NEW)} />;
  return (
    <Page
      title={texts.title}
      about={texts.about}
      actions={add}
      filters={filters}
      sheet={id && <Fragment key={id}>{sheet(id, { onOpen: open, onClose: close })}</Fragment>}
    >
      {children}
      <Table
        label={label}
        columns={columns}
        pages={pages}
        idOf={idOf}
        onOpen={(row) => open(idOf(row))}
        openId={id}
        selection={selection}
        empty={<EmptyList texts={texts} filtered={filtered} action={action ?? add} />}
      />
    </Page>
  );
}

const NOT_FOUND = 404;

type ResourceSheetProps<T> = {
  id?: string;
  of: Found<T>;
  texts: { add?: string; gone: string; goneWhy?: string };
  title: (item: T) => ReactNode;
  onClose: () => void;
  form?: (known: T | undefined, close: () => void) => ReactNode;
  actions?: (item: T, edit: () => void) => ReactNode;
  /** The elements above the content and the form. */
  above?: ReactNode;
  /** Shown instead of `texts.gone` if there is no such item. */
  missing?: ReactNode;
  children: (item: T) => ReactNode;
};

/**
 * The sheet of an item. It shows a form while the item is new or being edited, and otherwise the content of the item.
 * `form` gets the item, unless it is new, and a function that closes the form. `actions` gets a function that opens the form.
 */
export function ResourceSheet<T>({
  id,
  of: found,
  texts,
  title,
  onClose,
  form,
  actions,
  above,
  missing,
  children,
}: ResourceSheetProps<T>) {
  const [editing, setEditing] = useState(false);
  if (id === NEW && form) {
    return (
      <Sheet title={texts.add} onClose={onClose}>
        {form(undefined, onClose)}
      </Sheet>
    );
  }
  if (found.error?.status === NOT_FOUND) {
    return (
      <Sheet title={texts.gone} onClose={onClose}>
        {missing ?? <p className="muted">{texts.goneWhy}</p>}
      </Sheet>
    );
  }
  const { data } = found;
  return (
    <Sheet
      title={data === undefined ? "" : title(data)}
      onClose={onClose}
      actions={data !== undefined && !editing && actions?.(data, () => setEditing(true))}
    >
      {above}
      <Loaded of={found}>{(item) => (editing && form ? form(item, () => setEditing(false)) : children(item))}</Loaded>
    </Sheet>
  );
}

type FormSheetProps<T> = {
  id: string;
  of: Found<T>;
  texts: { add?: string; gone: string; goneWhy?: string };
  onClose: () => void;
  form: (known?: T) => ReactNode;
};

/** The sheet of an item that is always shown as its form. `form` gets the item, unless it is new. */
export function FormSheet<T>({ id, form, ...sheet }: FormSheetProps<T>) {
  return (
    <ResourceSheet id={id} title={() => id} form={() => form()} {...sheet}>
      {form}
    </ResourceSheet>
  );
}

/**
 * A list of items as rows; on a phone each row is a card. Only visible rows are rendered, so a hundred thousand rows scroll
 * smoothly. `j` and `k` move, Enter opens. New rows at the top wait behind "3 new" while the reader has scrolled down.
 */

import type { UseQueryResult } from "@tanstack/react-query";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, type ReactNode, type RefObject, useEffect, useRef, useState } from "react";
import type { ApiError } from "../api/client";
import type { Pages } from "../api/hooks";
import { Button } from "./button";
import { useListKeys } from "./keys";
import { untrusted } from "./show";
import { Empty, Failure, Skeleton } from "./states";
import styles from "./table.module.css";
import { texts } from "./texts";

export type Column<T> = {
  name: string;
  /** Width as a track of a CSS grid: `120px`, `minmax(120px, 2fr)`. */
  width?: string;
  /** True: the column is hidden beside an open detail, because the detail shows its value. */
  wide?: boolean;
  /** The cell. A string may be written by other people. */
  show: (row: T) => ReactNode;
};

export type Selection = { chosen: ReadonlySet<string>; choose: (chosen: ReadonlySet<string>) => void };

type Props<T> = {
  label: string;
  columns: readonly Column<T>[];
  pages: Pages<T>;
  idOf: (row: T) => string;
  /** Called with a row that is clicked, or on which Enter is pressed. */
  onOpen?: (row: T) => void;
  /** The row whose detail is open. */
  openId?: string | null;
  selection?: Selection;
  empty: ReactNode;
};

const ROW_PX = 44;
const CARD_PX = 96;
const PHONE = "(max-width: 720px)";

/** A list that is loaded at once; `rows`: a selection of its items. */
export function asPages<T>(
  found: Pick<UseQueryResult<{ items: T[] }, ApiError>, "data" | "error" | "isPending" | "refetch">,
  rows: T[] = found.data?.items ?? [],
): Pages<T> {
  return { rows, error: found.error, loading: found.isPending, more: null, retry: () => void found.refetch() };
}

type ListTexts = { empty: string; emptyWhy?: string; noMatch?: string; noMatchWhy?: string };

type EmptyProps = { texts: ListTexts; filtered: boolean; action?: ReactNode };

/** An empty list with its first step, or, while it is `filtered`, with a hint to change the filters. */
export function EmptyList({ texts: says, filtered, action }: EmptyProps) {
  if (filtered) return <Empty title={says.noMatch ?? says.empty} why={says.noMatchWhy} />;
  return <Empty title={says.empty} why={says.emptyWhy} action={action} />;
}

export function Table<T>(props: Props<T>) {
  const { pages, empty } = props;
  if (pages.rows.length > 0) return <Rows {...props} />;
  if (pages.error !== null) return <Failure error={pages.error} retry={pages.retry} />;
  if (pages.loading) return <Skeleton />;
  return <>{empty}</>;
}

function Rows<T>({ label, columns: all, pages, idOf, onOpen, openId, selection }: Props<T>) {
  const scroller = useRef<HTMLDivElement>(null);
  const { rows, hidden, showNew } = useSettled(pages.rows, idOf, scroller);
  const phone = usePhone();
  const [active, setActive] = useState(0);
  useListKeys(scroller, active);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => (phone ? CARD_PX : ROW_PX),
    overscan: 8,
    getItemKey: (index) => {
      const row = rows[index];
      return row === undefined ? index : idOf(row);
    },
  });
  const drawn = virtual.getVirtualItems();
  const last = drawn.at(-1)?.index ?? 0;
  const { more } = pages;
  useEffect(() => {
    if (more !== null && last >= rows.length - 20) more();
  }, [more, last, rows.length]);

  const move = (to: number) => {
    const index = Math.max(0, Math.min(rows.length - 1, to));
    setActive(index);
    virtual.scrollToIndex(index);
    window.requestAnimationFrame(() =>
      scroller.current?.querySelector<HTMLElement>(`[data-index="${index}"]`)?.focus(),
    );
  };
  const pressed = (event: KeyboardEvent, index: number) => {
    if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) return;
    const row = rows[index];
    if (event.key === "j" || event.key === "ArrowDown") move(index + 1);
    else if (event.key === "k" || event.key === "ArrowUp") move(index - 1);
    else if (event.key === "Home") move(0);
    else if (event.key === "End") move(rows.length - 1);
    else if (event.key === "Enter" && row !== undefined) onOpen?.(row);
    else if (event.key === " " && row !== undefined && selection)
      selection.choose(toggled(selection.chosen, idOf(row)));
    else return;
    event.preventDefault();
  };
  const width = useWidth(scroller);
  const columns = openId ? all.filter((column) => !column.wide) : all;
  const shown = phone ? columns : fitting(columns, width - (selection ? 44 : 0));
  const tracks = [selection ? "32px" : "", ...shown.map((column) => column.width ?? "minmax(80px, 1fr)")].join(" ");
  return (
    <div className={styles.frame}>
      {hidden > 0 && (
        <button type="button" className={styles.fresh} onClick={showNew}>
          {texts.newRows(hidden)}
        </button>
      )}
      <div
        className={styles.scroller}
        ref={scroller}
        onScroll={(event) => {
          if (event.currentTarget.scrollTop < ROW_PX) pages.renew?.();
        }}
      >
        <div
          role="grid"
          aria-label={label}
          aria-rowcount={more === null ? rows.length + 1 : -1}
          aria-busy={pages.loading}
          className={styles.table}
        >
          <div role="row" className={styles.head} style={{ gridTemplateColumns: tracks }} aria-rowindex={1}>
            {selection && (
              <div role="columnheader">
                <input
                  type="checkbox"
                  aria-label={texts.selectAll}
                  checked={rows.every((row) => selection.chosen.has(idOf(row)))}
                  onChange={(event) => selection.choose(new Set(event.target.checked ? rows.map(idOf) : []))}
                />
              </div>
            )}
            {shown.map((column) => (
              <div role="columnheader" key={column.name}>
                {column.name}
              </div>
            ))}
          </div>
          <div role="rowgroup" style={{ height: virtual.getTotalSize() }} className={styles.body}>
            {drawn.map((item) => {
              const row = rows[item.index];
              if (row === undefined) return null;
              const id = idOf(row);
              return (
                <div
                  key={item.key}
                  ref={virtual.measureElement}
                  data-index={item.index}
                  role="row"
                  aria-rowindex={item.index + 2}
                  aria-selected={id === openId || selection?.chosen.has(id) || false}
                  tabIndex={item.index === active ? 0 : -1}
                  className={`${styles.row} ${onOpen ? styles.open : ""}`}
                  style={{ transform: `translateY(${item.start}px)`, gridTemplateColumns: phone ? undefined : tracks }}
                  onFocus={() => setActive(item.index)}
                  onKeyDown={(event) => pressed(event, item.index)}
                  onClick={(event) => {
                    if (!(event.target as HTMLElement).closest("button, a, input, select, summary")) onOpen?.(row);
                  }}
                >
                  {selection && (
                    <div role="gridcell" className={styles.chooser}>
                      <input
                        type="checkbox"
                        aria-label={texts.select}
                        checked={selection.chosen.has(id)}
                        onChange={() => selection.choose(toggled(selection.chosen, id))}
                      />
                    </div>
                  )}
                  {shown.map((column) => (
                    <div role="gridcell" key={column.name} data-name={column.name}>
                      {untrusted(column.show(row))}
                    </div>
                  ))}
                </div>
              );
            })}
          </div>
        </div>
        {more !== null && <Button label={texts.more} kind="quiet" onClick={more} />}
      </div>
    </div>
  );
}

function toggled(chosen: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const after = new Set(chosen);
  if (!after.delete(id)) after.add(id);
  return after;
}

/** The rows to show: while the reader has scrolled down, new ones at the top wait, and nothing jumps. */
function useSettled<T>(rows: T[], idOf: (row: T) => string, scroller: RefObject<HTMLDivElement | null>) {
  const [top, setTop] = useState<string | null>(null);
  const first = rows[0] === undefined ? null : idOf(rows[0]);
  const scrolled = (scroller.current?.scrollTop ?? 0) > ROW_PX;
  const from = scrolled && top !== null ? rows.findIndex((row) => idOf(row) === top) : 0;
  const hidden = Math.max(from, 0);
  useEffect(() => {
    if (hidden === 0) setTop(first);
  }, [hidden, first]);
  const showNew = () => {
    setTop(first);
    scroller.current?.scrollTo({ top: 0 });
  };
  return { rows: hidden > 0 ? rows.slice(hidden) : rows, hidden, showNew };
}

/** The columns that fit side by side, at least two. The last columns are left out first, because the detail shows them. */
function fitting<T>(columns: readonly Column<T>[], width: number): readonly Column<T>[] {
  let taken = 24;
  const count = columns.findIndex((column) => {
    taken += leastOf(column.width) + 12;
    return taken > width;
  });
  return width === 0 || count === -1 ? columns : columns.slice(0, Math.max(2, count));
}

/** The minimum width of a track in pixels: 120 for `120px` and `minmax(120px, 2fr)`, 80 for a plain share such as `1fr`. */
function leastOf(track: string | undefined): number {
  return Number(/(\d+)px/.exec(track ?? "")?.[1] ?? 80);
}

/** The width of an element, updated whenever it changes. */
function useWidth(element: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    if (element.current === null) return;
    const observer = new ResizeObserver(([entry]) => setWidth(entry?.contentRect.width ?? 0));
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element]);
  return width;
}

export function usePhone(): boolean {
  const [phone, setPhone] = useState(() => window.matchMedia(PHONE).matches);
  useEffect(() => {
    const query = window.matchMedia(PHONE);
    const changed = () => setPhone(query.matches);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, []);
  return phone;
}

import { X } from "lucide-react";
import { type ReactNode, useEffect, useRef } from "react";
import { useSearchParams } from "wouter";
import { useApi } from "../api/hooks";
import { useTitle } from "../frame/title";
import { reveal } from "../words/format";
import { IconButton } from "./button";
import { Choice, type Options } from "./field";
import styles from "./page.module.css";
import { texts } from "./texts";

type PageProps = {
  title: string;
  about?: string;
  actions?: ReactNode;
  filters?: ReactNode;
  children: ReactNode;
  /** The detail beside the page (`Sheet`), which has its own address. */
  sheet?: ReactNode;
};

/** A page: its title, a one-line description, its main action, filters and content. */
export function Page({ title, about, actions, filters, children, sheet }: PageProps) {
  useTitle(title);
  return (
    <div className={styles.split}>
      <div className={styles.page}>
        <header className={styles.header}>
          <div>
            <h1>{title}</h1>
            {about && <p className="muted">{about}</p>}
          </div>
          {actions && <div className={styles.actions}>{actions}</div>}
        </header>
        {filters && <div className={styles.filters}>{filters}</div>}
        {children}
      </div>
      {sheet}
    </div>
  );
}

type SheetProps = { title: ReactNode; onClose: () => void; actions?: ReactNode; children: ReactNode };

/** The detail of one item at the side; Escape or the close button calls `onClose`. */
export function Sheet({ title, onClose, actions, children }: SheetProps) {
  const sheet = useRef<HTMLElement>(null);
  useEffect(() => {
    sheet.current?.focus();
  }, []);
  return (
    <section
      ref={sheet}
      className={styles.sheet}
      tabIndex={-1}
      aria-label={typeof title === "string" ? title : texts.details}
      onKeyDown={(event) => {
        if (event.key === "Escape") {
          event.stopPropagation();
          onClose();
        }
      }}
    >
      <header className={styles.sheetHeader}>
        <h2>{title}</h2>
        <IconButton icon={X} label={texts.close} onClick={onClose} />
      </header>
      {actions && <div className={styles.sheetActions}>{actions}</div>}
      <div className={styles.sheetBody}>{children}</div>
    </section>
  );
}

/** A section of a page with a heading. */
export function Section({ title, actions, children }: { title: string; actions?: ReactNode; children: ReactNode }) {
  return (
    <section className={styles.section}>
      <header>
        <h2>{title}</h2>
        {actions}
      </header>
      {children}
    </section>
  );
}

/** A value in the address (`?status=failed`), so that a link can name a view; and its setter. Empty: not set. */
export function useFilter(name: string): [string, (value: string) => void] {
  const [search, setSearch] = useSearchParams();
  const set = (value: string) =>
    setSearch(
      (before) => {
        const after = new URLSearchParams(before);
        if (value === "") after.delete(name);
        else after.set(name, value);
        return after;
      },
      { replace: true },
    );
  return [search.get(name) ?? "", set];
}

type ChipsProps = {
  label: string;
  name: string;
  options: readonly (readonly [string, string])[];
  /** The first chip, which clears the filter. */
  all?: string;
};

/** The values of several filters of the address, by name. */
export function useFilters<Name extends string>(...names: Name[]): Record<Name, string> {
  const [search] = useSearchParams();
  return Object.fromEntries(names.map((name) => [name, search.get(name) ?? ""])) as Record<Name, string>;
}

/** Chips that choose a value of a filter: `<Chips label="Status" name="status" options={[["failed", "Failed"]]} />`. */
export function Chips({ label, name, options, all = texts.all }: ChipsProps) {
  const [value, set] = useFilter(name);
  return (
    <div className={styles.chips} role="group" aria-label={label}>
      {[["", all] as const, ...options].map(([one, words]) => (
        <button key={one} type="button" aria-pressed={value === one} onClick={() => set(one)}>
          {words}
        </button>
      ))}
    </div>
  );
}

/** A search field for a filter of the address, applied shortly after the last letter. */
export function SearchField({ name = "q", label = texts.search }: { name?: string; label?: string }) {
  const [value, set] = useFilter(name);
  const field = useRef<HTMLInputElement>(null);
  const timer = useRef(0);
  useEffect(() => {
    const input = field.current;
    if (input !== null && input !== document.activeElement) input.value = value;
  }, [value]);
  return (
    <input
      ref={field}
      type="search"
      className={styles.search}
      defaultValue={value}
      placeholder={label}
      aria-label={label}
      onChange={(event) => {
        const text = event.target.value.trim();
        window.clearTimeout(timer.current);
        timer.current = window.setTimeout(() => set(text), 250);
      }}
    />
  );
}

type Props = { label: string; name: string; all: string; options: Options };

/** A choice of one value or of all (the first option). A value of the address that is not among the options is kept. */
export function FilterChoice({ label, name, all, options }: Props) {
  const [value, set] = useFilter(name);
  const known = value === "" || options.some(([one]) => one === value);
  const others: Options = known ? options : [[value, reveal(value)], ...options];
  return <Choice aria-label={label} value={value} options={[["", all], ...others]} onChange={set} />;
}

/** The agents by name, as choices; also the `chosen` one, even if it was removed. */
export function useAgentOptions(chosen = ""): Options {
  const agents = useApi("GET /api/agents", {});
  const all = (agents.data?.items ?? []).map((one) => [one.slug, reveal(one.name)] as const);
  return chosen === "" || all.some(([slug]) => slug === chosen) ? all : [[chosen, reveal(chosen)], ...all];
}

/** A choice of one agent. */
export function AgentFilter() {
  return <FilterChoice label={texts.agent} name="agent" all={texts.everyAgent} options={useAgentOptions()} />;
}

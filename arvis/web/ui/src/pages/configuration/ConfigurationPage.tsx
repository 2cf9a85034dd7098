import { useState } from "react";
import { useApi, useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import type { Item } from "../../api/types";
import { sends } from "../../parts/actions";
import { Button } from "../../parts/button";
import { Check } from "../../parts/field";
import { ChoiceField, TextField } from "../../parts/fields";
import { Chips, Page, SearchField, Section, useFilters } from "../../parts/page";
import { Status, UntrustedText } from "../../parts/show";
import { Empty, Failure, Loaded } from "../../parts/states";
import { useUnsaved } from "../../parts/unsaved";
import { sentences } from "../../words/format";
import { jsonOf } from "../../words/json";
import styles from "./configuration.module.css";
import { texts } from "./texts";

/** Every setting with its value and source. Changes are collected and sent together. */
export default function ConfigurationPage() {
  const settings = useApi("GET /api/settings", {});
  const { q, show } = useFilters("q", "show");
  const owns = useMay("owner");
  const [changes, setChanges] = useState<Record<string, unknown>>({});
  const save = useSend("PATCH /api/settings", { quiet: true, done: texts.saved });
  const undo = useSend("POST /api/settings/undo", { done: texts.undone });
  const changed = Object.keys(changes).length;
  useUnsaved(changed > 0);
  const set = (key: string, value: unknown) =>
    setChanges((before) => {
      const { [key]: _, ...rest } = before;
      return value === undefined ? rest : { ...rest, [key]: value };
    });
  const send = () => save.mutate({ body: { changes } }, { onSuccess: () => setChanges({}) });
  return (
    <Page
      title={texts.title}
      about={texts.about}
      actions={
        owns && (
          <>
            <Button label={texts.undo} {...sends(undo, {})} />
            <Button
              label={texts.save(changed)}
              kind="primary"
              disabled={changed === 0}
              busy={save.isPending}
              onClick={send}
            />
          </>
        )
      }
      filters={
        <>
          <SearchField label={texts.search} />
          <Chips
            label={texts.show}
            name="show"
            options={[
              ["set", texts.onlySet],
              ["here", texts.onlyHere],
            ]}
          />
        </>
      }
    >
      {save.error && <Failure error={save.error} />}
      <Loaded of={settings}>
        {(found) => {
          const rows = found.items.filter((row) => fits(row, q, show));
          const sections = [...new Set(rows.map(sectionOf))].sort(
            (one, other) => Number(other === "") - Number(one === ""),
          );
          return (
            <>
              {found.needsRestart.length > 0 && (
                <p className={styles.restart} role="status">
                  {texts.needsRestart(found.needsRestart.join(", "))}
                </p>
              )}
              {found.problem && <p className={styles.restart}>{found.problem}</p>}
              <p className="muted">{texts.file(found.file)}</p>
              {rows.length === 0 && <Empty title={texts.nothing} />}
              {sections.map((section) => (
                <Section key={section} title={section || texts.general}>
                  <div className={styles.list}>
                    {rows
                      .filter((row) => sectionOf(row) === section)
                      .map((row) => (
                        <Setting
                          key={`${row.key} ${JSON.stringify(row.value)}`}
                          row={row}
                          change={changes[row.key]}
                          disabled={!owns}
                          onChange={(value) => set(row.key, value)}
                        />
                      ))}
                  </div>
                </Section>
              ))}
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}

/** Settings without a section form one group. */
function sectionOf(row: SettingEntry): string {
  return row.section === row.key ? "" : row.section;
}

function fits(row: SettingEntry, q: string, show: string): boolean {
  if (show === "set" && row.source === "default") return false;
  if (show === "here" && !row.changeable) return false;
  return `${row.key} ${row.description}`.toLowerCase().includes(q.toLowerCase());
}

type SettingEntry = Item<"GET /api/settings">;

type Props = {
  row: SettingEntry;
  /** The new value; undefined: unchanged. */
  change: unknown;
  disabled: boolean;
  onChange: (value: unknown) => void;
};

function Setting({ row, change, disabled, onChange }: Props) {
  const fixed = disabled || !row.changeable;
  return (
    <div className={change === undefined ? styles.row : styles.changed}>
      <div className={styles.value}>
        {fixed ? <Shown row={row} /> : <Control row={row} change={change} disabled={disabled} onChange={onChange} />}
        <p className="muted">{row.description}</p>
        {row.problem && <p className={styles.problem}>{row.problem}</p>}
      </div>
      <div className={styles.source}>
        <Status tone={row.source === "default" ? "plain" : "accent"}>{texts.sources[row.source]}</Status>
        {row.location && <UntrustedText text={row.location} className="muted" />}
        {!row.changeable && row.reason && <span className="muted">{row.reason}</span>}
        {row.pending && <span>{texts.pending(written(row.nextValue))}</span>}
        {!fixed && !row.appliesImmediately && <span className="muted">{texts.atStart}</span>}
        {!fixed && row.source === "product" && (
          <Button label={texts.reset} kind="quiet" onClick={() => onChange(null)} />
        )}
      </div>
    </div>
  );
}

function Shown({ row }: { row: SettingEntry }) {
  return (
    <p>
      <strong>{row.key}</strong> <UntrustedText text={written(row.value)} />
    </p>
  );
}

/** A value as shown in a field; `null` means none. */
function written(value: unknown): string {
  if (value === null || value === undefined) return texts.none;
  if (Array.isArray(value)) return value.join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function Control({ row, change, onChange }: Props) {
  const [text, setText] = useState(row.value === null ? "" : written(row.value));
  if (row.kind === "boolean") {
    const checked = change === undefined ? row.value === true : change === true;
    return (
      <Check
        label={row.key}
        checked={checked}
        onChange={(value) => onChange(value === row.value ? undefined : value)}
      />
    );
  }
  if (row.kind === "choice") {
    return (
      <ChoiceField
        label={row.key}
        value={String(change ?? row.value ?? "")}
        options={row.choices.map((one) => [one, one] as const)}
        onChange={(value) => onChange(value === row.value ? undefined : value)}
      />
    );
  }
  const typed = (value: string) => {
    setText(value);
    onChange(value === (row.value === null ? "" : written(row.value)) ? undefined : read(row, value));
  };
  const numeric = row.kind === "integer" || row.kind === "number";
  const bounds = [row.minimum !== null && texts.least(row.minimum), row.maximum !== null && texts.most(row.maximum)];
  return (
    <TextField
      label={row.key}
      hint={sentences(...bounds.map((one) => one || null), row.nullable ? texts.emptyIsNone : null)}
      type={numeric ? "number" : "text"}
      step={row.kind === "number" ? "any" : undefined}
      value={text}
      placeholder={row.nullable ? texts.none : undefined}
      onChange={typed}
    />
  );
}

/** Convert typed text for the API. Text that cannot be parsed is sent unchanged, and the API reports the problem. */
function read(row: SettingEntry, text: string): unknown {
  if (text === "" && row.nullable) return null;
  if (row.kind === "integer" || row.kind === "number") return Number(text);
  if (row.kind === "list")
    return text
      .split(",")
      .map((one) => one.trim())
      .filter(Boolean);
  return row.kind === "mapping" ? jsonOf(text, text) : text;
}

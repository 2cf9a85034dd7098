import { useState } from "react";
import type { Item } from "../../api/types";
import { Button } from "../../parts/button";
import { Check } from "../../parts/field";
import { ChoiceField, TextField } from "../../parts/fields";
import { Status, UntrustedText } from "../../parts/show";
import { sentences } from "../../words/format";
import styles from "./configuration.module.css";
import { texts } from "./texts";

export type SettingEntry = Item<"GET /api/settings">;

type Props = {
  row: SettingEntry;
  /** The new value; undefined: unchanged. */
  change: unknown;
  disabled: boolean;
  onChange: (value: unknown) => void;
};

export function Setting({ row, change, disabled, onChange }: Props) {
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
  if (row.kind === "mapping") {
    try {
      return JSON.parse(text);
    } catch {
      return text;
    }
  }
  return text;
}

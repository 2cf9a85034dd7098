import { Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { Button, IconButton } from "../../../../parts/button";
import { TextArea } from "../../../../parts/fields";
import { reveal } from "../../../../words/format";
import { jsonOf, objectOf } from "../../../../words/json";
import type { JsonObject } from "../../../../workflow/types";
import { texts } from "../texts";
import styles from "./fields.module.css";
import type { FieldProps } from "./props";

/** Names and values as rows; as JSON if a value is not a text, or the object is a schema. */
export function ObjectField(props: FieldProps) {
  const { field, value, error } = props;
  const given = (objectOf(value) ?? {}) as JsonObject;
  const plain = !field.schema && Object.values(given).every((one) => typeof one === "string");
  const [json, setJson] = useState(!plain);
  return (
    <fieldset className={styles.rows}>
      <legend>{field.label}</legend>
      {field.help && <p className="muted">{field.help}</p>}
      {json || !plain ? (
        <AsJson {...props} given={given} />
      ) : (
        <AsRows {...props} given={given as Record<string, string>} />
      )}
      {error && <p className={styles.error}>{error}</p>}
      {plain && (
        <Button label={json ? texts.fields.asRows : texts.fields.asJson} kind="quiet" onClick={() => setJson(!json)} />
      )}
    </fieldset>
  );
}

function AsJson({ field, given, onChange, onRest, disabled }: FieldProps & { given: JsonObject }) {
  const [typed, setTyped] = useState<string | null>(null);
  const broken = typed !== null && read(typed) === null;
  return (
    <TextArea
      label={texts.fields.asJson}
      error={broken ? texts.fields.notJson : null}
      className={styles.code}
      value={typed ?? JSON.stringify(given, null, 2)}
      rows={6}
      spellCheck={false}
      disabled={disabled}
      aria-label={`${field.label} ${texts.fields.asJson}`}
      onBlur={() => {
        if (!broken) setTyped(null);
        onRest();
      }}
      onChange={(text) => {
        setTyped(text);
        const next = read(text);
        if (next !== null) onChange(Object.keys(next).length === 0 ? undefined : next);
      }}
    />
  );
}

const read = (text: string): JsonObject | null => objectOf(jsonOf(text)) as JsonObject | null;

function AsRows({ given, onChange, onRest, disabled }: FieldProps & { given: Record<string, string> }) {
  // A name that is being edited must keep its place, and two names may be equal for a moment.
  const [rows, setRows] = useState<[string, string][]>(() => Object.entries(given));
  const shown = same(rows, given) ? rows : Object.entries(given);
  const write = (next: [string, string][]) => {
    setRows(next);
    const named = next.filter(([name]) => name !== "");
    onChange(named.length === 0 ? undefined : Object.fromEntries(named));
  };
  const set = (place: number, row: [string, string]) => write(shown.with(place, row));
  return (
    <>
      {shown.map(([name, value], place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a row is its place
        <div key={place} className={styles.entry}>
          <input
            aria-label={`${texts.fields.name} ${place + 1}`}
            placeholder={texts.fields.name}
            value={name}
            disabled={disabled}
            onBlur={onRest}
            onChange={(event) => set(place, [event.target.value, value])}
          />
          <input
            aria-label={`${texts.fields.value} ${place + 1}`}
            placeholder={texts.fields.value}
            value={value}
            disabled={disabled}
            onBlur={onRest}
            onChange={(event) => set(place, [name, event.target.value])}
          />
          {!disabled && (
            <IconButton
              icon={Trash2}
              label={texts.fields.removeEntry(reveal(name) || String(place + 1))}
              onClick={() => write(shown.toSpliced(place, 1))}
            />
          )}
        </div>
      ))}
      {!disabled && <Button label={texts.fields.addEntry} icon={Plus} onClick={() => setRows([...shown, ["", ""]])} />}
    </>
  );
}

/** True if the rows match the value; if not, it was changed elsewhere, such as by undo. */
function same(rows: [string, string][], given: Record<string, string>): boolean {
  const named = rows.filter(([name]) => name !== "");
  return JSON.stringify(Object.fromEntries(named)) === JSON.stringify(given);
}

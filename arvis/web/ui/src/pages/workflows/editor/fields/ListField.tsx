import { useState } from "react";
import { Field as Labelled } from "../../../../parts/field";
import { texts } from "../texts";
import styles from "./fields.module.css";
import { useOffers } from "./offers";
import type { FieldProps } from "./props";

/** Several texts, one per line; offered values can be added from a list. */
export function ListField({ field, value, onChange, onRest, error, disabled }: FieldProps) {
  const offers = useOffers(field.offers);
  const entries = Array.isArray(value) ? value.map(String) : [];
  // While the user types, an empty line starts the next entry.
  const [typed, setTyped] = useState<string | null>(null);
  const write = (lines: string[]) => {
    const kept = lines.map((line) => line.trim()).filter(Boolean);
    onChange(kept.length === 0 ? undefined : kept);
  };
  const left = offers.filter(([one]) => !entries.includes(one));
  return (
    <div className={styles.text}>
      <Labelled label={field.label} hint={[field.help, texts.fields.listHint].filter(Boolean).join(" ")} error={error}>
        <textarea
          value={typed ?? entries.join("\n")}
          rows={Math.min(8, Math.max(2, entries.length + 1))}
          disabled={disabled}
          onBlur={() => {
            setTyped(null);
            onRest();
          }}
          onChange={(event) => {
            setTyped(event.target.value);
            write(event.target.value.split("\n"));
          }}
        />
      </Labelled>
      {left.length > 0 && !disabled && (
        <select
          className={styles.insert}
          aria-label={`${field.label}: ${texts.fields.addEntry}`}
          value=""
          onChange={(event) => write([...entries, event.target.value])}
        >
          <option value="">{texts.fields.addEntry}</option>
          {left.map(([one, words]) => (
            <option key={one} value={one}>
              {words}
            </option>
          ))}
        </select>
      )}
    </div>
  );
}

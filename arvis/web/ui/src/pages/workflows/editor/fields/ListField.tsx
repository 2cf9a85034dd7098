import { useState } from "react";
import { Choice } from "../../../../parts/field";
import { TextArea } from "../../../../parts/fields";
import { texts } from "../texts";
import styles from "./fields.module.css";
import { useOffers } from "./OfferedField";
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
      <TextArea
        label={field.label}
        hint={[field.help, texts.fields.listHint].filter(Boolean).join(" ")}
        error={error}
        value={typed ?? entries.join("\n")}
        rows={Math.min(8, Math.max(2, entries.length + 1))}
        disabled={disabled}
        onBlur={() => {
          setTyped(null);
          onRest();
        }}
        onChange={(text) => {
          setTyped(text);
          write(text.split("\n"));
        }}
      />
      {left.length > 0 && !disabled && (
        <Choice
          className={styles.insert}
          aria-label={`${field.label}: ${texts.fields.addEntry}`}
          value=""
          onChange={(one) => write([...entries, one])}
          options={[["", texts.fields.addEntry], ...left]}
        />
      )}
    </div>
  );
}

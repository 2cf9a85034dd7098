import { useState } from "react";
import { ChoiceField, TextField } from "../../../../parts/fields";
import { reveal } from "../../../../words/format";
import { texts } from "../texts";
import { useOffers } from "./offers";
import type { FieldProps } from "./props";

const OTHER = "*";

/** A choice of existing values, or another one by name. */
export function OfferedField({ field, value, onChange, onRest, error, disabled }: FieldProps) {
  const offers = useOffers(field.offers);
  const [typed, setTyped] = useState(false);
  const text = typeof value === "string" ? value : "";
  const known = text === "" || offers.some(([one]) => one === text);
  return (
    <>
      <ChoiceField
        label={field.label}
        hint={field.help || undefined}
        error={typed ? null : error}
        value={typed ? OTHER : text}
        disabled={disabled}
        options={[
          ["", field.required ? texts.fields.choose : texts.fields.unset],
          ...(known ? [] : [[text, reveal(text)] as const]),
          ...offers,
          [OTHER, texts.fields.other],
        ]}
        onChange={(chosen) => {
          setTyped(chosen === OTHER);
          if (chosen !== OTHER) onChange(chosen === "" ? undefined : chosen);
        }}
      />
      {typed && (
        <TextField
          label={texts.fields.otherName}
          error={error}
          value={text}
          maxLength={field.most ?? undefined}
          onBlur={onRest}
          onChange={(written) => onChange(written === "" ? undefined : written)}
        />
      )}
    </>
  );
}

import { Check } from "../../../../parts/field";
import { ChoiceField, TextField } from "../../../../parts/fields";
import { reveal } from "../../../../words/format";
import { objectOf } from "../../../../words/json";
import type { Field } from "../../../../workflow/kinds";
import type { JsonObject } from "../../../../workflow/types";
import { texts } from "../texts";
import { ListField } from "./ListField";
import { ObjectField } from "./ObjectField";
import { OfferedField } from "./OfferedField";
import type { FieldProps } from "./props";
import { TemplateField } from "./TemplateField";

/** One field as described in `kinds.py`; row fields have their own component. */
export function FieldOf(props: FieldProps) {
  const { field, value, onChange, onRest, error, disabled } = props;
  const labels = { label: field.label, hint: field.help || undefined, error };
  const text = typeof value === "string" ? value : value === undefined || value === null ? "" : JSON.stringify(value);
  const write = (written: string) => onChange(written === "" && !field.required ? undefined : written);
  switch (field.form) {
    case "text":
      return <TemplateField {...props} />;
    case "list":
      return <ListField {...props} />;
    case "object":
      return <ObjectField {...props} />;
    case "switches":
      return <Switches {...props} />;
    case "switch":
      return (
        <Check
          label={labels.label}
          hint={labels.hint}
          checked={(value ?? field.default) === true}
          disabled={disabled}
          onChange={(on) => onChange(on === (field.default === true) ? undefined : on)}
        />
      );
    case "choice":
      return (
        <ChoiceField
          {...labels}
          value={text || String(field.default ?? "")}
          options={choicesOf(field, text)}
          disabled={disabled}
          onChange={(chosen) => onChange(chosen === "" ? undefined : chosen)}
        />
      );
    case "number":
      return (
        <TextField
          {...labels}
          type="number"
          step="any"
          value={text}
          min={field.least ?? undefined}
          max={field.most ?? undefined}
          placeholder={field.default === null ? undefined : String(field.default)}
          disabled={disabled}
          onBlur={onRest}
          onChange={(written) => onChange(written === "" ? undefined : Number(written))}
        />
      );
    default:
      if (field.offers !== "") return <OfferedField {...props} />;
      return (
        <TextField
          {...labels}
          value={text}
          maxLength={field.most ?? undefined}
          disabled={disabled}
          onBlur={onRest}
          onChange={write}
        />
      );
  }
}

/** The choices; an optional field starts with "none". A value that is not available is offered only if it is already chosen. */
function choicesOf(field: Field, chosen: string): [string, string][] {
  const named = field.choices.flatMap((one, place): [string, string][] =>
    one === "" || (field.unoffered.includes(one) && one !== chosen)
      ? []
      : [[one, field.words[place] || reveal(one.replace(/[_-]/g, " "))]],
  );
  return field.default === null ? [["", field.required ? texts.fields.choose : texts.fields.unset], ...named] : named;
}

function Switches({ field, value, onChange, disabled }: FieldProps) {
  const on = (objectOf(value) ?? {}) as JsonObject;
  const set = (name: string, to: boolean) => {
    const { [name]: _, ...others } = on;
    const next = to ? { ...others, [name]: true } : others;
    onChange(Object.keys(next).length === 0 ? undefined : next);
  };
  return (
    <fieldset>
      <legend>{field.label}</legend>
      {field.fields.map((one) => (
        <Check
          key={one.name}
          label={one.label}
          hint={one.help || undefined}
          checked={on[one.name] === true}
          disabled={disabled}
          onChange={(to) => set(one.name, to)}
        />
      ))}
    </fieldset>
  );
}

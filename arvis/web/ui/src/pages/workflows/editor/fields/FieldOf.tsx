import { useRef, useState } from "react";
import { useApi } from "../../../../api/hooks";
import { Check, Choice } from "../../../../parts/field";
import { ChoiceField, TextArea, TextField } from "../../../../parts/fields";
import { reveal } from "../../../../words/format";
import { objectOf } from "../../../../words/json";
import type { Field } from "../../../../workflow/kinds";
import type { JsonObject } from "../../../../workflow/types";
import { texts } from "../texts";
import styles from "./fields.module.css";
import { ObjectField } from "./ObjectField";
import type { FieldProps } from "./props";

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

const OTHER = "*";

/** A choice of existing values, or another one by name. */
function OfferedField({ field, value, onChange, onRest, error, disabled }: FieldProps) {
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

/** A value and its label. */
type Offer = readonly [value: string, words: string];

/** People who may answer are named by role, or individually. */
const ROLES = ["owner", "operator"];

/** The choices: agents, tools, workflows, models, platforms or people. */
export function useOffers(offers: string): Offer[] {
  const asked = (name: string) => (offers === name ? {} : null);
  const agents = useApi("GET /api/agents", asked("agents"));
  const tools = useApi("GET /api/tools", asked("tools"));
  const workflows = useApi("GET /api/workflows", asked("workflows"));
  const models = useApi("GET /api/models", asked("models"));
  const bots = useApi("GET /api/bots", asked("platforms"));
  switch (offers) {
    case "agents":
      return (agents.data?.items ?? []).map(({ slug, name }) => [slug, reveal(name)]);
    case "tools":
      return (tools.data?.items ?? []).map(({ name }) => [name, reveal(name)]);
    case "workflows":
      return (workflows.data?.items ?? []).map(({ slug, name }) => [slug, reveal(name)]);
    case "models":
      return (models.data?.items ?? [])
        .filter(({ accounts }) => accounts.length > 0)
        .map(({ name }) => [name, reveal(name)]);
    case "platforms":
      return [...new Set(["web", ...(bots.data?.items ?? []).map(({ platform }) => platform)])].map((one) => [
        one,
        one,
      ]);
    case "people":
      return ROLES.map((role) => [role, role]);
    default:
      return [];
  }
}

/** Several texts, one per line; offered values can be added from a list. */
function ListField({ field, value, onChange, onRest, error, disabled }: FieldProps) {
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

const LONG = 200;

/** A long text. If it is a template, a list inserts values at the cursor. */
function TemplateField({ field, value, onChange, onRest, error, disabled, names }: FieldProps) {
  const area = useRef<HTMLTextAreaElement>(null);
  const text = typeof value === "string" ? value : "";
  const write = (written: string) => onChange(written === "" ? undefined : written);
  const insert = (template: string) => {
    const { selectionStart: from, selectionEnd: to } = area.current ?? { selectionStart: text.length, selectionEnd: 0 };
    write(text.slice(0, from) + template + text.slice(Math.max(from, to)));
    onRest();
    const after = from + template.length;
    requestAnimationFrame(() => {
      area.current?.focus();
      area.current?.setSelectionRange(after, after);
    });
  };
  return (
    <div className={styles.text}>
      <TextArea
        label={field.label}
        hint={field.help || undefined}
        error={error}
        ref={area}
        value={text}
        rows={text.length > LONG ? 8 : 3}
        maxLength={field.most ?? undefined}
        disabled={disabled}
        onBlur={onRest}
        onChange={write}
      />
      {field.help.includes("{{") && !disabled && (
        <Choice
          className={styles.insert}
          aria-label={`${field.label}: ${texts.fields.insert}`}
          value=""
          onChange={insert}
          options={[
            ["", texts.fields.insert],
            ["{{PREVIOUS_OUTPUT}}", texts.fields.previous],
            ["{{trigger}}", texts.fields.trigger],
            ...names.map((name) => [`{{${name}}}`, texts.fields.output(reveal(name))] as const),
          ]}
        />
      )}
    </div>
  );
}

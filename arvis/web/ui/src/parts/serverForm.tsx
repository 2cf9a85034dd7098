/** The form of a tool server. All its texts are the words of the server, so they are shown as untrusted. */

import { useState } from "react";
import type { Item } from "../api/types";
import { reveal } from "../words/format";
import { Button } from "./button";
import { Check, Choice, Field } from "./field";
import { Form, FormButtons } from "./form";
import { readValue, type ServerField, startOf, type Written } from "./serverFields";
import { texts } from "./texts";

export type ServerQuestion = NonNullable<Item<"GET /api/questions">["form"]>;

type Props = {
  form: ServerQuestion;
  busy: boolean;
  onAccept: (values: Record<string, unknown>) => void;
  onRefuse: (decision: "reject" | "cancel") => void;
};

/** The fields of a form, and the buttons that send its values, decline or cancel. A page to open has no fields. */
export function ServerForm({ form, busy, onAccept, onRefuse }: Props) {
  const [written, setWritten] = useState<Written>(() => startOf(form.fields, form.values));
  const [problems, setProblems] = useState<Record<string, string>>({});
  const send = () => {
    const read = form.fields.map((field) => [field.name, readValue(field, written[field.name] ?? "")] as const);
    const wrong = read.flatMap(([name, value]) => ("problem" in value ? [[name, value.problem] as const] : []));
    setProblems(Object.fromEntries(wrong));
    const values = read.flatMap(([name, value]) => ("value" in value ? [[name, value.value] as const] : []));
    if (wrong.length === 0) onAccept(Object.fromEntries(values.filter(([, value]) => value !== undefined)));
  };
  return (
    <Form label={texts.serverForm} onSend={send}>
      {form.kind === "page" && (
        <p>
          <a href={form.url} target="_blank" rel="noreferrer noopener">
            {reveal(form.url)}
          </a>
        </p>
      )}
      {form.fields.map((field) => (
        <ServerFieldInput
          key={field.name}
          field={field}
          value={written[field.name] ?? ""}
          problem={problems[field.name] ?? null}
          onChange={(value) => setWritten((before) => ({ ...before, [field.name]: value }))}
        />
      ))}
      <FormButtons>
        <Button
          label={form.kind === "form" ? texts.sendToServer : texts.accept}
          type="submit"
          kind="primary"
          busy={busy}
        />
        <Button label={texts.decline} kind="danger" busy={busy} onClick={() => onRefuse("reject")} />
        <Button label={texts.notNow} kind="quiet" busy={busy} onClick={() => onRefuse("cancel")} />
      </FormButtons>
    </Form>
  );
}

const TYPES: Record<string, string> = { email: "email", uri: "url", date: "date", "date-time": "text" };

type FieldProps = {
  field: ServerField;
  value: string | readonly string[];
  problem: string | null;
  onChange: (value: string | readonly string[]) => void;
};

function ServerFieldInput({ field, value, problem, onChange }: FieldProps) {
  const name = reveal(field.title || field.name);
  const label = field.required ? name : texts.optional(name);
  const hint = field.description === "" ? undefined : reveal(field.description);
  if (field.kind === "choices") {
    const chosen = typeof value === "string" ? [] : value;
    return (
      <fieldset>
        <legend>{label}</legend>
        {hint && <p className="muted">{hint}</p>}
        {field.options.map((option) => (
          <Check
            key={option.value}
            label={reveal(option.title)}
            checked={chosen.includes(option.value)}
            onChange={(on) => onChange(on ? [...chosen, option.value] : chosen.filter((each) => each !== option.value))}
          />
        ))}
        {problem && <p role="alert">{problem}</p>}
      </fieldset>
    );
  }
  const text = typeof value === "string" ? value : "";
  if (field.kind === "choice" || field.kind === "boolean") {
    const options: (readonly [string, string])[] =
      field.kind === "boolean"
        ? [
            ["true", texts.yes],
            ["false", texts.no],
          ]
        : field.options.map((option) => [option.value, reveal(option.title)]);
    return (
      <Field label={label} hint={hint} error={problem}>
        <Choice value={text} options={[["", texts.choose], ...options]} onChange={onChange} />
      </Field>
    );
  }
  const number = field.kind === "number" || field.kind === "integer";
  return (
    <Field label={label} hint={hint} error={problem}>
      <input
        autoComplete="off"
        type={number ? "number" : (TYPES[field.format] ?? "text")}
        step={field.kind === "number" ? "any" : undefined}
        value={text}
        onChange={(event) => onChange(event.target.value)}
      />
    </Field>
  );
}

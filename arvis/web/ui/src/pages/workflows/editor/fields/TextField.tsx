import { useRef } from "react";
import { Field as Labelled } from "../../../../parts/field";
import { reveal } from "../../../../words/format";
import { texts } from "../texts";
import styles from "./fields.module.css";
import type { FieldProps } from "./props";

const LONG = 200;

/** A long text. If it is a template, a list inserts values at the cursor. */
export function TextField({ field, value, onChange, onRest, error, disabled, names }: FieldProps) {
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
      <Labelled label={field.label} hint={field.help || undefined} error={error}>
        <textarea
          ref={area}
          value={text}
          rows={text.length > LONG ? 8 : 3}
          maxLength={field.most ?? undefined}
          disabled={disabled}
          onBlur={onRest}
          onChange={(event) => write(event.target.value)}
        />
      </Labelled>
      {field.help.includes("{{") && !disabled && (
        <select
          className={styles.insert}
          aria-label={`${field.label}: ${texts.fields.insert}`}
          value=""
          onChange={(event) => insert(event.target.value)}
        >
          <option value="">{texts.fields.insert}</option>
          <option value="{{PREVIOUS_OUTPUT}}">{texts.fields.previous}</option>
          <option value="{{trigger}}">{texts.fields.trigger}</option>
          {names.map((name) => (
            <option key={name} value={`{{${name}}}`}>
              {texts.fields.output(reveal(name))}
            </option>
          ))}
        </select>
      )}
    </div>
  );
}

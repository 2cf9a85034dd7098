import { useRef } from "react";
import { Choice } from "../../../../parts/field";
import { TextArea } from "../../../../parts/fields";
import { reveal } from "../../../../words/format";
import { texts } from "../texts";
import styles from "./fields.module.css";
import type { FieldProps } from "./props";

const LONG = 200;

/** A long text. If it is a template, a list inserts values at the cursor. */
export function TemplateField({ field, value, onChange, onRest, error, disabled, names }: FieldProps) {
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

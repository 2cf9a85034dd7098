import { cloneElement, type ReactElement, useId } from "react";
import styles from "./field.module.css";

type Control = ReactElement<{ id?: string; "aria-describedby"?: string; "aria-invalid"?: boolean }>;

type FieldProps = { label: string; hint?: string; error?: string | null; children: Control };

/** A control with its label above, and a hint and error below. `children` is one input, select or textarea. */
export function Field({ label, hint, error, children }: FieldProps) {
  const id = useId();
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ");
  return (
    <div className={styles.field}>
      <label htmlFor={id}>{label}</label>
      {cloneElement(children, { id, "aria-describedby": described || undefined, "aria-invalid": Boolean(error) })}
      {hint && (
        <p id={`${id}-hint`} className={styles.hint}>
          {hint}
        </p>
      )}
      {error && (
        <p id={`${id}-error`} className={styles.error}>
          {error}
        </p>
      )}
    </div>
  );
}

type CheckProps = {
  label: string;
  hint?: string;
  checked: boolean;
  onChange: (checked: boolean) => void;
  disabled?: boolean;
};

/** A checkbox with its label. */
export function Check({ label, hint, checked, onChange, disabled }: CheckProps) {
  const id = useId();
  return (
    <div className={styles.check}>
      <input
        id={id}
        type="checkbox"
        checked={checked}
        disabled={disabled}
        aria-describedby={hint ? `${id}-hint` : undefined}
        onChange={(event) => onChange(event.target.checked)}
      />
      <div>
        <label htmlFor={id}>{label}</label>
        {hint && (
          <p id={`${id}-hint`} className={styles.hint}>
            {hint}
          </p>
        )}
      </div>
    </div>
  );
}

export type Options<T extends string = string> = readonly (readonly [T, string])[];

type ChoiceProps<T extends string> = {
  value: T;
  options: Options<T>;
  onChange: (value: T) => void;
  id?: string;
  className?: string;
  disabled?: boolean;
  "aria-label"?: string;
  "aria-describedby"?: string;
  "aria-invalid"?: boolean;
};

/** A choice of one value: `[["cron", "At times"], …]`. */
export function Choice<T extends string>({ value, options, onChange, ...rest }: ChoiceProps<T>) {
  return (
    <select value={value} onChange={(event) => onChange(event.target.value as T)} {...rest}>
      {options.map(([one, words]) => (
        <option key={one} value={one}>
          {words}
        </option>
      ))}
    </select>
  );
}

import { useId } from "react";
import { Code } from "../../parts/show";
import { texts } from "./texts";
import styles from "./users.module.css";

export type Role = keyof typeof texts.roles;

const ROLES = Object.keys(texts.roles) as Role[];

type Props = { value: Role; onChange: (role: Role) => void; disabled?: boolean };

/** The four roles, each with a one-line description. */
export function RoleChoice({ value, onChange, disabled }: Props) {
  const id = useId();
  return (
    <fieldset className={styles.roles} disabled={disabled}>
      <legend>{texts.role}</legend>
      {ROLES.map((role) => (
        <label key={role}>
          <input
            type="radio"
            name={id}
            value={role}
            checked={role === value}
            aria-label={texts.roles[role]}
            aria-describedby={`${id}-${role}`}
            onChange={() => onChange(role)}
          />
          {texts.roles[role]}
          <span id={`${id}-${role}`}>{texts.roleWords[role]}</span>
        </label>
      ))}
    </fieldset>
  );
}

/** A value that is shown once, with a copy button. */
export function Once({ title, why, value }: { title: string; why: string; value: string }) {
  return (
    <section className={styles.once} aria-label={title}>
      <h3>{title}</h3>
      <Code value={value} label={title} />
      <p className="muted">{why}</p>
    </section>
  );
}

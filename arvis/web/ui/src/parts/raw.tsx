import { useState } from "react";
import { Code } from "./show";
import styles from "./show.module.css";

/** The thing as the API tells it, behind a disclosure; written out only once somebody looks. */
export function Raw({ title, value }: { title: string; value: unknown }) {
  const [open, setOpen] = useState(false);
  return (
    <details className={styles.raw} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{title}</summary>
      {open && <Code value={value} label={title} />}
    </details>
  );
}

import { useState } from "react";
import { Code } from "./show";
import styles from "./show.module.css";

/** The API's JSON of an item, behind a disclosure; rendered only when opened. */
export function Raw({ title, value }: { title: string; value: unknown }) {
  const [open, setOpen] = useState(false);
  return (
    <details className={styles.raw} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{title}</summary>
      {open && <Code value={value} label={title} />}
    </details>
  );
}

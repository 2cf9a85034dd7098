import { Code } from "../../parts/show";
import styles from "./users.module.css";

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

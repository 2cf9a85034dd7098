import { Status } from "../../parts/show";
import { reveal, sentences } from "../../words/format";
import { texts } from "./texts";
import type { Problem } from "./workflow";
import styles from "./workflows.module.css";

/** The problems of a document, each with its fix; those that prevent a run come first. */
export function Problems({ of }: { of: readonly Problem[] }) {
  const errors = of.filter((one) => one.severity === "error");
  const hints = of.filter((one) => one.severity !== "error");
  return (
    <>
      {errors.length > 0 && <Group title={texts.problems} of={errors} />}
      {hints.length > 0 && <Group title={texts.hints} of={hints} />}
    </>
  );
}

function Group({ title, of }: { title: string; of: readonly Problem[] }) {
  const trouble = of[0]?.severity === "error";
  return (
    <section className={styles.problems} data-trouble={trouble || undefined} aria-label={title}>
      <h2>
        <Status tone={trouble ? "trouble" : "warn"}>{title}</Status>
      </h2>
      <ul>
        {of.map((one) => (
          <li key={`${one.rule} ${one.node} ${one.connection} ${one.field}`}>
            {sentences(reveal(one.message), reveal(one.fix))}
          </li>
        ))}
      </ul>
    </section>
  );
}

import { UntrustedText } from "../../parts/show";
import { reveal } from "../../words/format";
import styles from "./agents.module.css";
import type { Difference } from "./diff";
import { texts } from "./texts";

/** The differences, field by field: removed lines with a minus, added lines with a plus. */
export function Changes({ of }: { of: readonly Difference[] }) {
  return (
    <dl className={styles.changes}>
      {of.map((one) => (
        <div key={one.field}>
          <dt>{texts.fields[one.field]}</dt>
          <dd>
            <One difference={one} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function One({ difference }: { difference: Difference }) {
  if (difference.kind === "value")
    return (
      <>
        <del>
          <UntrustedText text={difference.before} />
        </del>
        {" → "}
        <ins>
          <UntrustedText text={difference.after} />
        </ins>
      </>
    );
  if (difference.kind === "list")
    return (
      <ul className={styles.entries}>
        {difference.moved && <li>{texts.otherOrder}</li>}
        {difference.gone.map((entry) => (
          <li key={`-${entry}`}>
            <del>
              − <UntrustedText text={entry} />
            </del>
          </li>
        ))}
        {difference.come.map((entry) => (
          <li key={`+${entry}`}>
            <ins>
              + <UntrustedText text={entry} />
            </ins>
          </li>
        ))}
      </ul>
    );
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <div className={styles.lines} tabIndex={0}>
      {difference.lines.map((line, index) => {
        const words =
          line.sign === "skipped" ? line.text : `${line.sign === "-" ? "−" : line.sign} ${reveal(line.text)}`;
        const key = `${index} ${line.sign}`;
        if (line.sign === "-") return <del key={key}>{words}</del>;
        if (line.sign === "+") return <ins key={key}>{words}</ins>;
        return (
          <span key={key} className={line.sign === "skipped" ? "muted" : undefined}>
            {words}
          </span>
        );
      })}
    </div>
  );
}

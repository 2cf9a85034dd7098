import { useState } from "react";
import { Link } from "wouter";
import { useApi } from "../../api/hooks";
import { UntrustedText } from "../../parts/show";
import { Loaded } from "../../parts/states";
import { type Execution, ExecutionState, graphInWords, took } from "./execution";
import styles from "./executions.module.css";
import { texts } from "./texts";

type Props = { of: readonly Pick<Execution, "id" | "graph" | "status" | "agent" | "createdAt" | "updatedAt">[] };

/** The executions that an execution called; each shows its own calls once it is opened. */
export function Children({ of }: Props) {
  return (
    <ul className={styles.list}>
      {of.map((child) => (
        <li key={child.id}>
          <div className={styles.child}>
            <Link href={`/executions/${child.id}`}>
              {graphInWords(child.graph)} · <UntrustedText text={child.agent ?? texts.noAgent} />
            </Link>
            <ExecutionState status={child.status} />
            <span className="muted">{took(child)}</span>
          </div>
          <Grandchildren id={child.id} />
        </li>
      ))}
    </ul>
  );
}

function Grandchildren({ id }: { id: string }) {
  const [open, setOpen] = useState(false);
  const run = useApi("GET /api/executions/{execution}", open ? { path: { execution: id } } : null);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="muted">{texts.showChildren}</summary>
      {open && (
        <Loaded of={run}>
          {(data) =>
            data.children.length === 0 ? <p className="muted">{texts.noChildren}</p> : <Children of={data.children} />
          }
        </Loaded>
      )}
    </details>
  );
}

import { Code, Status, type Tone } from "../../../parts/show";
import { duration, reveal } from "../../../words/format";
import styles from "./run.module.css";
import { texts } from "./texts";
import type { Call } from "./tree";

const TONES: Record<Call["state"], Tone> = { open: "accent", done: "good", failed: "trouble" };

/** Calls of subagents, each with its own calls. */
export function Subagents({ of }: { of: readonly Call[] }) {
  return (
    <ul className={styles.tree} aria-label={texts.subagents}>
      {of.map((call) => (
        <li key={call.id}>
          <p className={styles.call}>
            <bdi>{reveal(call.name)}</bdi>
            <Status tone={TONES[call.state]}>{texts.calls[call.state]}</Status>
            {call.endedAt !== null && <span className="muted">{duration(call.endedAt - call.at)}</span>}
          </p>
          <Words title={texts.asked} text={call.asked} />
          {call.calls.length > 0 && <Subagents of={call.calls} />}
          <Words title={texts.answered} text={call.answered} />
        </li>
      ))}
    </ul>
  );
}

function Words({ title, text }: { title: string; text: string }) {
  if (text === "") return null;
  return (
    <details>
      <summary className="muted">{title}</summary>
      <Code value={text} label={title} />
    </details>
  );
}

import { Markdown } from "../../parts/markdown";
import { Status, type Tone } from "../../parts/show";
import { reveal, sentences } from "../../words/format";
import type { Finding } from "./bots";
import styles from "./bots.module.css";
import { texts } from "./texts";

const TONES: Record<Finding["level"], Tone> = { ok: "good", warning: "warn", error: "trouble" };

/** The platform's findings about a bot's setup, each with a fix. */
export function Findings({ findings }: { findings: readonly Finding[] }) {
  const trouble = findings.some((one) => one.level === "error");
  return (
    <div role={trouble ? "alert" : "status"}>
      <ul className={styles.findings} aria-label={texts.checked}>
        {findings.map((one) => (
          <li key={one.text} className={styles.finding}>
            <Status tone={TONES[one.level]}>{texts.levels[one.level]}</Status>
            <p>{reveal(sentences(one.text))}</p>
            {one.fix && <Markdown text={one.fix} />}
          </li>
        ))}
      </ul>
    </div>
  );
}

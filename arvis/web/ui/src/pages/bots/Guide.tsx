import { Code } from "../../parts/show";
import { reveal } from "../../words/format";
import type { Platform } from "./bots";
import styles from "./bots.module.css";
import { texts } from "./texts";

/** The steps to create a bot on this platform, and the permissions that it needs. */
export function Guide({ platform }: { platform: Platform }) {
  return (
    <div className={styles.guide}>
      <h3>{texts.steps}</h3>
      <ol>
        {platform.steps.map((step) => (
          <li key={step}>{reveal(step)}</li>
        ))}
      </ol>
      {platform.manifest && (
        <details>
          <summary>{texts.manifest}</summary>
          <Code value={platform.manifest} label={texts.manifest} />
        </details>
      )}
      {platform.needs.length > 0 && (
        <details>
          <summary>{texts.needs}</summary>
          <dl>
            {platform.needs.map((need) => (
              <div key={need.name}>
                <dt>{reveal(need.name)}</dt>
                <dd>{reveal(need.why)}</dd>
              </div>
            ))}
          </dl>
        </details>
      )}
    </div>
  );
}

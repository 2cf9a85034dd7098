import { useState } from "react";
import { useSend } from "../../api/hooks";
import { Button } from "../../parts/button";
import { TextField } from "../../parts/fields";
import { Form } from "../../parts/form";
import { Markdown } from "../../parts/markdown";
import { Code, Status, type Tone } from "../../parts/show";
import { Failure } from "../../parts/states";
import { reveal, sentences, unusedName } from "../../words/format";
import { BotFields } from "./BotFields";
import { type Bot, type Draft, EMPTY, type Finding, given, isComplete, type Platform } from "./bots";
import styles from "./bots.module.css";
import { texts } from "./texts";

const UNUSABLE = 422;

type Props = {
  platform: Platform;
  /** Names of existing bots of this platform. */
  taken: readonly string[];
  /** The agent that answers, unless another one is chosen. */
  agent?: string;
  onStarted: (bot: Bot) => void;
};

/** Create a bot: the platform's steps beside the fields. A pasted token is checked before anything is saved. */
export function BotSetup({ platform, taken, agent, onStarted }: Props) {
  const [draft, setDraft] = useState<Draft>(agent === undefined ? EMPTY : { ...EMPTY, settings: { agent } });
  const [named, setNamed] = useState<string | null>(null);
  const [pressed, setPressed] = useState(false);
  const check = useSend("POST /api/bots/test", { quiet: true });
  const add = useSend("POST /api/bots", { quiet: true });
  const name = named ?? unusedName("main", taken);
  const look = (at: Draft, asked: boolean) => {
    setPressed(asked);
    if (isComplete(platform, at)) check.mutate({ body: { platform: platform.name, name, ...given(at) } });
  };
  // If a second token is still missing after the first one was pasted, this is not an error yet.
  const unfinished = !pressed && check.error?.status === UNUSABLE;
  const trouble = add.error === null && !unfinished ? check.error : null;
  const send = () =>
    add.mutate({ body: { platform: platform.name, name, ...given(draft) } }, { onSuccess: (bot) => onStarted(bot) });
  return (
    <div className={styles.room}>
      <div className={styles.setup}>
        <Guide platform={platform} />
        <Form
          onSend={send}
          by={[add]}
          save={texts.start}
          label={texts.addTo(platform.title)}
          buttons={
            <Button
              label={texts.check}
              busy={check.isPending}
              disabled={!isComplete(platform, draft)}
              onClick={() => look(draft, true)}
            />
          }
        >
          {trouble && <Failure error={trouble} />}
          <BotFields platform={platform} draft={draft} onChange={setDraft} onPasted={(at) => look(at, false)} />
          {taken.length > 0 && (
            <TextField label={texts.name} hint={texts.nameHint} required value={name} onChange={setNamed} />
          )}
          {check.data && !check.isPending && !check.error && <Findings findings={check.data.findings} />}
        </Form>
      </div>
    </div>
  );
}

/** The steps to create a bot on this platform, and the permissions that it needs. */
function Guide({ platform }: { platform: Platform }) {
  return (
    <div className={styles.guide}>
      {platform.install && (
        <div role="note">
          <p>{texts.notInstalled(platform.title)}</p>
          <Code value={platform.install} label={texts.install} />
        </div>
      )}
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

import { useState } from "react";
import { Button } from "../../parts/button";
import { useAsk } from "../../parts/dialog";
import { TextArea, TextField } from "../../parts/fields";
import styles from "./agents.module.css";
import type { Change, Draft } from "./draft";
import { ModelField } from "./ModelField";
import { MoreFields } from "./MoreFields";
import { prompts } from "./prompts";
import { ToolPicker } from "./ToolPicker";
import { texts } from "./texts";

type Props = {
  draft: Draft;
  change: Change;
  /** Its slug: an agent cannot be its own helper. */
  self: string;
  conductor?: boolean;
};

/** All fields of an agent except its name and slug. */
export function AgentFields({ draft, change, self, conductor = false }: Props) {
  return (
    <>
      <TextField
        label={texts.fields.role}
        hint={conductor ? texts.conductorWhy : texts.roleHint}
        disabled={conductor}
        maxLength={100}
        value={draft.role}
        onChange={(role) => change({ role })}
      />
      <TextArea
        label={texts.fields.description}
        hint={texts.descriptionHint}
        rows={2}
        maxLength={2000}
        value={draft.description}
        onChange={(description) => change({ description })}
      />
      <PromptField value={draft.prompt} onChange={(prompt) => change({ prompt })} />
      <ModelField value={draft.model} onChange={(model) => change({ model })} />
      <ToolPicker chosen={draft.tools} onChange={(tools) => change({ tools })} />
      <details className={styles.more}>
        <summary>{texts.more}</summary>
        <MoreFields draft={draft} change={change} self={self} />
      </details>
    </>
  );
}

function PromptField({ value, onChange }: { value: string; onChange: (prompt: string) => void }) {
  const ask = useAsk();
  const [offered, setOffered] = useState("");
  const take = async (text: string) => {
    const { replacePrompt: title, replacePromptWhy: words, replace: yes } = texts;
    if (value.trim() !== "" && value !== offered && !(await ask({ title, words, yes }))) return;
    setOffered(text);
    onChange(text);
  };
  return (
    <div className={styles.prompt}>
      <TextArea label={texts.fields.prompt} hint={texts.promptHint} rows={12} value={value} onChange={onChange} />
      <div className={styles.starts} role="group" aria-label={texts.startWith}>
        <span className="muted">{texts.startWith}</span>
        {Object.values(prompts).map(({ name, text }) => (
          <Button label={name} key={name} onClick={() => void take(text)} />
        ))}
      </div>
    </div>
  );
}

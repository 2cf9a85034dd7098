import { useState } from "react";
import { useSend } from "../../api/hooks";
import { AskButton } from "../../parts/actions";
import { Button } from "../../parts/button";
import { TextField } from "../../parts/fields";
import { Form, FormButtons } from "../../parts/form";
import { Section } from "../../parts/page";
import { Failure } from "../../parts/states";
import { texts as common } from "../../parts/texts";
import { useKeptDraft } from "../../parts/unsaved";
import { AgentFields } from "./AgentFields";
import styles from "./agents.module.css";
import { differences } from "./diff";
import { type Agent, CONDUCTOR, type Draft, differing, draftOf } from "./draft";
import { Changes } from "./History";
import { texts } from "./texts";

/** Edit an agent: the changes are shown before they are saved, and only they are sent. */
export function EditAgent({ agent }: { agent: Agent }) {
  const [base, setBase] = useState(agent);
  const [draft, setDraft] = useKeptDraft<Draft>(`agent.${agent.id}`, draftOf(base));
  const [seen, setSeen] = useState(agent);
  const save = useSend("PATCH /api/agents/{agent}", { quiet: true, done: common.saved });
  const body = differing(base, draft);
  const changed = differences(base, body as Partial<Agent>);
  const begin = (from: Agent) => {
    setBase(from);
    setDraft(draftOf(from));
  };
  // Changes that another user saved are loaded as long as nothing is typed here.
  if (agent !== seen) {
    setSeen(agent);
    if (changed.length === 0 && !save.isPending) begin(agent);
  }
  const send = () => {
    if (changed.length > 0) save.mutate({ path: { agent: base.slug }, body }, { onSuccess: begin });
  };
  return (
    <Form label={texts.tabs.edit} onSend={send} dirty={changed.length > 0} kept>
      <TextField
        label={texts.fields.name}
        hint={texts.nameHint}
        required
        maxLength={100}
        value={draft.name}
        onChange={(name) => setDraft({ ...draft, name })}
      />
      <AgentFields
        draft={draft}
        change={(some) => setDraft({ ...draft, ...some })}
        self={base.slug}
        conductor={base.role === CONDUCTOR}
      />
      <div className={styles.review}>
        <Section title={texts.changes}>
          {changed.length === 0 ? <p className="muted">{texts.noChanges}</p> : <Changes of={changed} />}
        </Section>
        {save.error && <Failure error={save.error} />}
        {save.error?.code === "suite_not_passed" && (
          <AskButton
            label={texts.saveAnyway}
            words={texts.saveAnywayWhy}
            busy={save.isPending}
            onClick={() =>
              save.mutate({ path: { agent: base.slug }, query: { gate: false }, body }, { onSuccess: begin })
            }
          />
        )}
      </div>
      <div className={styles.bar}>
        {changed.length > 0 && (
          <p className="muted">{texts.changedFields(changed.map((one) => texts.fields[one.field]).join(", "))}</p>
        )}
        <FormButtons>
          <Button
            label={common.save}
            type="submit"
            kind="primary"
            busy={save.isPending}
            disabled={changed.length === 0}
          />
          {changed.length > 0 && <Button label={texts.discard} onClick={() => begin(agent)} />}
        </FormButtons>
      </div>
    </Form>
  );
}

import { useState } from "react";
import { useApi } from "../../api/hooks";
import { Button } from "../../parts/button";
import { useAsk } from "../../parts/dialog";
import { ChoiceField, TextArea, TextField } from "../../parts/fields";
import { EffortField, ModelField } from "../../parts/modelFields";
import { useWorkflowOptions } from "../../parts/workflowGraph";
import { reveal } from "../../words/format";
import styles from "./agents.module.css";
import { Checklist } from "./Checklist";
import type { Change, Draft } from "./draft";
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
      <ModelField
        label={texts.fields.model}
        hint={texts.modelHint}
        unset={texts.unset.model}
        value={draft.model}
        onChange={(model) => change({ model })}
      />
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

const COMPLETIONS = Object.entries(texts.completions) as [Draft["completion"], string][];
const ON_NEW_MESSAGE = Object.entries(texts.onNewMessages) as [Draft["onNewMessage"], string][];

const ALLOWED = Object.entries(texts.allowed) as ["everybody" | "listed", string][];

/** The less common fields of an agent. */
function MoreFields({ draft, change, self }: { draft: Draft; change: Change; self: string }) {
  const agents = useApi("GET /api/agents", {});
  const plugins = useApi("GET /api/plugins", {});
  const skills = useApi("GET /api/skills", {});
  const credentials = useApi("GET /api/credentials", {});
  const knowledge = useApi("GET /api/knowledge", {});
  const helpers = (agents.data?.items ?? []).filter((agent) => agent.slug !== self);
  return (
    <div className={styles.moreFields}>
      <GraphField value={draft.graph} onChange={(graph) => change({ graph })} />
      <ChoiceField
        label={texts.fields.completion}
        hint={texts.completionHint}
        value={draft.completion}
        options={COMPLETIONS}
        onChange={(completion) => change({ completion })}
      />
      <EffortField
        label={texts.fields.effort}
        hint={texts.effortHint}
        unset={texts.unset.effort}
        value={draft.effort}
        onChange={(effort) => change({ effort })}
      />
      <ChoiceField
        label={texts.fields.onNewMessage}
        value={draft.onNewMessage}
        options={[["", texts.unset.onNewMessage], ...ON_NEW_MESSAGE]}
        onChange={(onNewMessage) => change({ onNewMessage })}
      />
      <TextField
        label={texts.fields.contextTokens}
        hint={texts.contextTokensHint}
        type="number"
        step={1}
        value={draft.contextTokens}
        onChange={(contextTokens) => change({ contextTokens })}
      />
      <TextField
        label={texts.fields.timezone}
        hint={texts.timezoneHint}
        value={draft.timezone}
        onChange={(timezone) => change({ timezone })}
      />
      <TextArea
        label={texts.fields.fallbacks}
        hint={texts.fallbacksHint}
        rows={2}
        value={draft.fallbacks}
        onChange={(fallbacks) => change({ fallbacks })}
      />
      <ChoiceField
        label={texts.fields.allowUsers}
        value={draft.everybody ? "everybody" : "listed"}
        options={ALLOWED}
        onChange={(allowed) => change({ everybody: allowed === "everybody" })}
      />
      {draft.everybody ? null : (
        <TextArea
          label={texts.allowUsersList}
          hint={draft.allowUsers.trim() === "" ? texts.allowUsersNobody : texts.allowUsersHint}
          rows={2}
          value={draft.allowUsers}
          onChange={(allowUsers) => change({ allowUsers })}
        />
      )}
      <Checklist
        label={texts.fields.plugins}
        hint={`${texts.pluginsHint} ${texts.trustedOnly("plugins", plugins.data?.items ?? [])}`}
        entries={(plugins.data?.items ?? []).map((one) => ({ value: one.name, words: one.description }))}
        chosen={draft.plugins}
        onChange={(chosen) => change({ plugins: chosen })}
      />
      <Checklist
        label={texts.fields.helpers}
        hint={texts.helpersHint}
        entries={helpers.map((one) => ({ value: one.slug, name: one.name, words: one.description }))}
        chosen={draft.helpers}
        onChange={(chosen) => change({ helpers: chosen })}
      />
      <Checklist
        label={texts.fields.skills}
        hint={texts.skillsHint}
        entries={[
          { value: "*", name: texts.allSkills, words: texts.allSkillsHint },
          ...(skills.data?.items ?? []).map((one) => ({ value: one.slug, name: one.name, words: one.description })),
        ]}
        chosen={draft.skills}
        onChange={(chosen) => change({ skills: chosen })}
      />
      <Checklist
        label={texts.fields.credentials}
        hint={texts.credentialsHint}
        entries={(credentials.data?.items ?? []).map((one) => ({ value: one.name, words: one.hosts.join(", ") }))}
        chosen={draft.credentials}
        onChange={(chosen) => change({ credentials: chosen })}
      />
      <Checklist
        label={texts.fields.knowledge}
        hint={texts.knowledgeHint}
        entries={(knowledge.data?.items ?? []).map((one) => ({
          value: one.slug,
          name: one.name,
          words: one.description,
        }))}
        chosen={draft.knowledge}
        onChange={(chosen) => change({ knowledge: chosen })}
      />
    </div>
  );
}

/** The ways of working, with a description of the chosen one; a workflow can be chosen as well. */
function GraphField({ value, onChange }: { value: string; onChange: (graph: string) => void }) {
  const graphs = useApi("GET /api/graphs", {});
  const items = graphs.data?.items ?? [];
  const all = [
    ...items.map(({ name }) => [name, texts.graphs[name] ?? reveal(name)] as const),
    ...useWorkflowOptions(value),
  ];
  const known = all.some(([name]) => name === value);
  return (
    <ChoiceField
      label={texts.fields.graph}
      hint={items.find((graph) => graph.name === value)?.description}
      value={value}
      options={known ? all : [[value, texts.graphs[value] ?? reveal(value)], ...all]}
      onChange={onChange}
    />
  );
}

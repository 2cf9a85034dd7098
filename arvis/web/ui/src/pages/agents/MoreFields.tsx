import { useApi } from "../../api/hooks";
import { ChoiceField, TextArea, TextField } from "../../parts/fields";
import { useWorkflowOptions } from "../../parts/workflowGraph";
import { reveal } from "../../words/format";
import styles from "./agents.module.css";
import { Checklist } from "./Checklist";
import type { Change, Draft } from "./draft";
import { texts } from "./texts";

const COMPLETIONS = Object.entries(texts.completions) as [Draft["completion"], string][];
const ON_NEW_MESSAGE = Object.entries(texts.onNewMessages) as [Draft["onNewMessage"], string][];

const ALLOWED = Object.entries(texts.allowed) as ["everybody" | "listed", string][];

/** The less common fields of an agent. */
export function MoreFields({ draft, change, self }: { draft: Draft; change: Change; self: string }) {
  const agents = useApi("GET /api/agents", {});
  const plugins = useApi("GET /api/plugins", {});
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

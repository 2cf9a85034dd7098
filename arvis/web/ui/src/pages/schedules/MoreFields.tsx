import { Choice, Field } from "../../parts/field";
import { useWorkflowOptions } from "../../parts/workflowGraph";
import { reveal } from "../../words/format";
import type { Draft } from "./draft";
import styles from "./schedules.module.css";
import { texts } from "./texts";

const MISSED = Object.entries(texts.missedKinds) as [Draft["missed"], string][];
const ZONES: readonly string[] = Intl.supportedValuesOf("timeZone");

/** Rarely changed fields. */
export function MoreFields({ draft, set }: { draft: Draft; set: (part: Partial<Draft>) => void }) {
  const zones = draft.timezone === "" || ZONES.includes(draft.timezone) ? ZONES : [draft.timezone, ...ZONES];
  const graphs = [...Object.entries(texts.graphs), ...useWorkflowOptions(draft.graph)];
  const known = graphs.some(([name]) => name === draft.graph);
  return (
    <details className={styles.more}>
      <summary>{texts.more}</summary>
      <Field label={texts.timezone}>
        <Choice
          value={draft.timezone}
          options={[["", texts.ownZone], ...zones.map((zone) => [zone, zone] as const)]}
          onChange={(timezone) => set({ timezone })}
        />
      </Field>
      <Field label={texts.missed}>
        <Choice value={draft.missed} options={MISSED} onChange={(missed) => set({ missed })} />
      </Field>
      <Field label={texts.grace} hint={texts.graceHint}>
        <input
          type="number"
          min={0}
          step="any"
          value={draft.grace}
          onChange={(event) => set({ grace: event.target.value })}
        />
      </Field>
      {draft.kind !== "script" && (
        <Field label={texts.graph}>
          <Choice
            value={draft.graph}
            options={known ? graphs : [[draft.graph, reveal(draft.graph)], ...graphs]}
            onChange={(graph) => set({ graph })}
          />
        </Field>
      )}
      {draft.kind === "heartbeat" && (
        <Field label={texts.cycles} hint={texts.cyclesHint}>
          <input
            type="number"
            min={1}
            max={10}
            value={draft.cycles}
            onChange={(event) => set({ cycles: event.target.value })}
          />
        </Field>
      )}
    </details>
  );
}

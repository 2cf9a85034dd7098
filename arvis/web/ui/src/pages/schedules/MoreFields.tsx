import { ChoiceField, type DraftOf, TextField } from "../../parts/fields";
import { useWorkflowOptions } from "../../parts/workflowGraph";
import { reveal } from "../../words/format";
import type { Draft } from "./draft";
import styles from "./schedules.module.css";
import { texts } from "./texts";

const MISSED = Object.entries(texts.missedKinds) as [Draft["missed"], string][];
const ZONES: readonly string[] = Intl.supportedValuesOf("timeZone");

/** Rarely changed fields. */
export function MoreFields({ draft, of }: DraftOf<Draft>) {
  const zones = draft.timezone === "" || ZONES.includes(draft.timezone) ? ZONES : [draft.timezone, ...ZONES];
  const graphs = [...Object.entries(texts.graphs), ...useWorkflowOptions(draft.graph)];
  const known = graphs.some(([name]) => name === draft.graph);
  return (
    <details className={styles.more}>
      <summary>{texts.more}</summary>
      <ChoiceField
        label={texts.timezone}
        options={[["", texts.ownZone], ...zones.map((zone) => [zone, zone] as const)]}
        {...of("timezone")}
      />
      <ChoiceField label={texts.missed} options={MISSED} {...of("missed")} />
      <TextField label={texts.grace} hint={texts.graceHint} type="number" min={0} step="any" {...of("grace")} />
      {draft.kind !== "script" && (
        <ChoiceField
          label={texts.graph}
          options={known ? graphs : [[draft.graph, reveal(draft.graph)], ...graphs]}
          {...of("graph")}
        />
      )}
      {draft.kind === "heartbeat" && (
        <TextField label={texts.cycles} hint={texts.cyclesHint} type="number" min={1} max={10} {...of("cycles")} />
      )}
    </details>
  );
}

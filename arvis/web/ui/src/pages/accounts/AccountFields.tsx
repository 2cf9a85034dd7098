import { useId } from "react";
import { useApi } from "../../api/hooks";
import { Field } from "../../parts/field";
import { Secret, TextField } from "../../parts/fields";
import { Status } from "../../parts/show";
import { duration, money, reveal, sentences } from "../../words/format";
import type { Draft, Provider, Trial } from "./accounts";
import styles from "./accounts.module.css";
import { texts } from "./texts";

type AccountFieldsProps = {
  provider: Provider;
  draft: Draft;
  onChange: (draft: Draft) => void;
  onPasted?: (apiKey: string) => void;
  hasKey?: boolean;
  folded?: boolean;
};

/** Key, address and model of an account, as far as its vendor has them. `folded` hides optional fields behind a line. */
export function AccountFields({
  provider,
  draft,
  onChange,
  onPasted,
  hasKey = false,
  folded = false,
}: AccountFieldsProps) {
  const address = provider.baseUrl !== "none" && (
    <TextField
      label={texts.baseUrl}
      hint={provider.baseUrl === "required" ? texts.baseUrlRequired : texts.baseUrlOptional}
      type="url"
      value={draft.baseUrl}
      required={provider.baseUrl === "required"}
      onChange={(baseUrl) => onChange({ ...draft, baseUrl })}
    />
  );
  const model = <ModelField provider={provider} draft={draft} onChange={onChange} />;
  const addressFirst = provider.baseUrl === "required" && address;
  const modelNeeded = provider.defaultModel === null;
  const keyHint = hasKey ? texts.keyReplace : (provider.keySource ?? texts.keyOptional);
  return (
    <div className={styles.fields}>
      {addressFirst}
      {modelNeeded && model}
      {provider.key !== "none" && (
        <Field label={texts.key} hint={`${keyHint} ${texts.keySealed}`}>
          <Secret
            required={provider.key === "required" && !hasKey && draft.baseUrl === ""}
            onText={(apiKey) => onChange({ ...draft, apiKey })}
            onPasted={onPasted}
          />
        </Field>
      )}
      {folded ? (
        !(addressFirst && modelNeeded) && (
          <details>
            <summary>{texts.other}</summary>
            <div className={styles.more}>
              {!modelNeeded && model}
              {!addressFirst && address}
            </div>
          </details>
        )
      ) : (
        <>
          {!modelNeeded && model}
          {!addressFirst && address}
        </>
      )}
    </div>
  );
}

type ModelFieldProps = { provider: Provider; draft: Draft; onChange: (draft: Draft) => void };

function ModelField({ provider, draft, onChange }: ModelFieldProps) {
  const known = useApi("GET /api/models", {});
  const id = useId();
  const models = (known.data?.items ?? []).filter((one) => one.provider === provider.name);
  return (
    <>
      <TextField
        label={texts.model}
        hint={provider.defaultModel === null ? texts.modelHint : texts.modelDefault(provider.defaultModel)}
        value={draft.model}
        list={id}
        required={provider.defaultModel === null}
        onChange={(model) => onChange({ ...draft, model })}
      />
      <datalist id={id}>
        {models.map((one) => (
          <option key={one.name} value={one.model} />
        ))}
      </datalist>
    </>
  );
}

/** The result of a test call: its duration and cost, or the problem and its fix. */
export function TrialResult({ trial, free = false }: { trial: Trial; free?: boolean }) {
  if (!trial.ok)
    return (
      <div className={styles.trial} role="alert">
        <Status tone="trouble">{texts.noAnswer}</Status>
        <p>{reveal(sentences(capital(trial.error ?? "")))}</p>
        {trial.fix && <p>{reveal(sentences(trial.fix))}</p>}
      </div>
    );
  return (
    <div className={styles.trial} role="status">
      <Status tone="good">{texts.answers}</Status>
      <p>{trialWords(trial, free)}</p>
    </div>
  );
}

/** One line of a successful test. `free`: this vendor charges nothing. */
export function trialWords(trial: Trial, free: boolean): string {
  const cost = free ? texts.free : trial.costUsd === null ? texts.costUnknown : texts.cost(money(trial.costUsd));
  return `${texts.answered(reveal(trial.model), duration(trial.durationMs))} ${cost}`;
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

import { useState } from "react";
import { useApi, useSend } from "../../api/hooks";
import { Button } from "../../parts/button";
import { Form, FormButtons } from "../../parts/form";
import { Failure, Loaded } from "../../parts/states";
import { unusedName } from "../../words/format";
import { AccountFields, TrialResult, trialWords } from "../accounts/AccountFields";
import { bodyOf, type Draft, EMPTY, isComplete, type Provider } from "../accounts/accounts";
import { Choices, Skip, type StepProps } from "./Step";
import { texts } from "./texts";

/** A vendor and a key, which is tested as soon as it is pasted and saved if the test succeeds. */
export function ModelStep({ onDone, onSkip }: StepProps) {
  const providers = useApi("GET /api/providers", {});
  const [vendor, setVendor] = useState<string | null>(null);
  return (
    <Loaded of={providers}>
      {({ items }) => {
        const vendors = items.filter((one) => one.name !== "demo");
        const chosen = vendors.find((one) => one.name === vendor);
        return (
          <>
            <Choices
              label={texts.model.vendors}
              options={vendors.map((one) => [one.name, one.title, one.description] as const)}
              chosen={vendor}
              onChoose={setVendor}
            />
            {chosen && <Key key={chosen.name} provider={chosen} onDone={onDone} />}
            <div>
              <Skip onSkip={onSkip} words={texts.model.demo} />
            </div>
          </>
        );
      }}
    </Loaded>
  );
}

function Key({ provider, onDone }: { provider: Provider; onDone: StepProps["onDone"] }) {
  const [draft, setDraft] = useState<Draft>(EMPTY);
  const accounts = useApi("GET /api/accounts", {});
  const attempt = useSend("POST /api/accounts/test", { quiet: true });
  const add = useSend("POST /api/accounts", { quiet: true });
  const free = provider.key === "none";
  const test = (apiKey = draft.apiKey) => {
    const whole = { ...draft, apiKey };
    if (!isComplete(provider, whole) || attempt.isPending || add.isPending) return;
    const body = bodyOf(provider.name, whole);
    const taken = (accounts.data?.items ?? []).map((one) => one.name);
    attempt.mutate(
      { body },
      {
        onSuccess: (trial) => {
          if (!trial.ok) return;
          const account = { ...body, name: unusedName(provider.name, taken) };
          add.mutate({ body: account }, { onSuccess: () => onDone(trialWords(trial, free)) });
        },
      },
    );
  };
  const trouble = add.error ?? attempt.error;
  return (
    <Form onSend={() => test()} label={provider.title}>
      {trouble && <Failure error={trouble} />}
      <AccountFields provider={provider} draft={draft} onChange={setDraft} onPasted={test} folded />
      {attempt.isPending && <p role="status">{texts.model.testing}</p>}
      {attempt.data && !attempt.isPending && <TrialResult trial={attempt.data} free={free} />}
      <FormButtons>
        <Button label={texts.model.keep} type="submit" kind="primary" busy={attempt.isPending || add.isPending} />
      </FormButtons>
    </Form>
  );
}

import { useRef, useState } from "react";
import { useLocation } from "wouter";
import { useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import { AskButton, sends } from "../../parts/actions";
import { Button } from "../../parts/button";
import { ChoiceField, TextField } from "../../parts/fields";
import { Form, FormButtons } from "../../parts/form";
import { Section } from "../../parts/page";
import { Facts, Status, type Tone } from "../../parts/show";
import { Failure } from "../../parts/states";
import { texts as common } from "../../parts/texts";
import { clock, count, reveal } from "../../words/format";
import { AccountFields, TrialResult } from "./AccountFields";
import type { Account, Draft, Provider } from "./accounts";
import { texts } from "./texts";

/** One account: its state, a test, and its settings. `provider` is unknown if its package was removed. */
export function AccountSheet({ account, provider }: { account: Account; provider: Provider | undefined }) {
  const owns = useMay("owner");
  const test = useSend("POST /api/accounts/{account}/test", { quiet: true });
  const path = { account: account.name };
  const mine = account.source === "product";
  return (
    <>
      <Facts
        of={[
          [texts.state, <AccountState key="state" account={account} />],
          [texts.provider, provider?.title ?? account.provider],
          [texts.model, account.model],
          [texts.models, account.models.join(", ")],
          [texts.baseUrl, account.baseUrl],
          [texts.key, account.hasKey ? texts.keySet : texts.keyUnset],
          [texts.api, account.api && texts.apis[account.api]],
          [texts.priority, count(account.priority)],
          [texts.source, texts.sources[account.source]],
        ]}
      />
      {account.problem && <p>{reveal(account.problem)}</p>}
      <Section title={texts.health}>
        <Health account={account} />
        {test.error && <Failure error={test.error} />}
        {test.data && !test.isPending && <TrialResult trial={test.data} free={provider?.key === "none"} />}
        {owns && (
          <FormButtons>
            <Button label={texts.test} {...sends(test, { path })} />
            {mine && <Switch account={account} />}
          </FormButtons>
        )}
      </Section>
      {mine && owns && provider && <Edit key={account.name} account={account} provider={provider} />}
      {!mine && <p className="muted">{texts.readOnly}</p>}
    </>
  );
}

function Health({ account }: { account: Account }) {
  if (account.health.length === 0) return <p className="muted">{texts.healthy}</p>;
  return (
    <ul>
      {account.health.map((one) => {
        const kind = (texts.kinds as Record<string, string>)[one.kind] ?? reveal(one.kind);
        const model = reveal(one.model);
        return (
          <li key={one.model}>
            {one.cooldownUntil === null
              ? texts.refusals(model, kind, one.refusals)
              : texts.cooldownUntil(model, kind, clock(one.cooldownUntil))}
          </li>
        );
      })}
    </ul>
  );
}

function Switch({ account }: { account: Account }) {
  const [, navigate] = useLocation();
  const change = useSend("PATCH /api/accounts/{account}");
  const remove = useSend("DELETE /api/accounts/{account}", { done: texts.removed });
  const path = { account: account.name };
  const active = account.status === "active";
  return (
    <>
      <Button
        label={active ? texts.disable : texts.enable}
        {...sends(change, { path, body: { status: active ? "disabled" : "active" } })}
      />
      <AskButton
        kind="danger"
        label={common.delete}
        words={texts.removeWhy(reveal(account.name))}
        {...sends(remove, { path }, { onSuccess: () => navigate("/settings/accounts") })}
      />
    </>
  );
}

const APIS = [["", texts.ownApi], ...Object.entries(texts.apis)] as [NonNullable<Account["api"]> | "", string][];
const hasApis = (provider: Provider): boolean => ["openai", "custom"].includes(provider.name);

function Edit({ account, provider }: { account: Account; provider: Provider }) {
  const kept: Draft = { apiKey: "", baseUrl: account.baseUrl ?? "", model: account.model };
  const [draft, setDraft] = useState<Draft>(kept);
  const latest = useRef(draft);
  const [models, setModels] = useState(account.models.join(", "));
  const [priority, setPriority] = useState(String(account.priority));
  const [api, setApi] = useState<NonNullable<Account["api"]> | "">(account.api ?? "");
  const [saves, setSaves] = useState(0);
  const save = useSend("PATCH /api/accounts/{account}", { quiet: true, done: common.saved });
  const change = (next: Draft) => {
    latest.current = next;
    setDraft(next);
  };
  const send = () =>
    save.mutate(
      {
        path: { account: account.name },
        body: {
          model: draft.model,
          models: models
            .split(",")
            .map((one) => one.trim())
            .filter(Boolean),
          priority: Number(priority),
          ...(hasApis(provider) && { api: api || null }),
          ...(provider.baseUrl !== "none" && { baseUrl: draft.baseUrl.trim() }),
          ...(draft.apiKey !== "" && { apiKey: draft.apiKey }),
        },
      },
      {
        onSuccess: () => {
          if (latest.current !== draft) return; // keep what was entered while Arvis saved
          change({ ...draft, apiKey: "" });
          setSaves((before) => before + 1); // clear the field of the key
        },
      },
    );
  return (
    <Form onSend={send} by={[save]}>
      <AccountFields key={saves} provider={provider} draft={draft} onChange={change} hasKey={account.hasKey} />
      <TextField label={texts.models} hint={texts.modelsHint} value={models} onChange={setModels} />
      {hasApis(provider) && (
        <ChoiceField label={texts.api} hint={texts.apiHint} value={api} options={APIS} onChange={setApi} />
      )}
      <TextField
        label={texts.priority}
        hint={texts.priorityHint}
        type="number"
        min={0}
        max={10_000}
        required
        value={priority}
        onChange={setPriority}
      />
    </Form>
  );
}

const TONES: Record<keyof typeof texts.states, Tone> = {
  active: "good",
  disabled: "plain",
  cooldown: "warn",
  refused: "warn",
  problem: "trouble",
};

/** The state of an account, in one word. */
export function AccountState({ account }: { account: Account }) {
  const cooling = account.health.some((one) => one.cooldownUntil !== null);
  const state =
    account.status === "disabled"
      ? "disabled"
      : account.problem !== null
        ? "problem"
        : cooling
          ? "cooldown"
          : account.health.length > 0
            ? "refused"
            : "active";
  return <Status tone={TONES[state]}>{texts.states[state]}</Status>;
}

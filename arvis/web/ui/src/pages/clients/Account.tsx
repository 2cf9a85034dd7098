import { useState } from "react";
import { Link } from "wouter";
import { useApi, useList, useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import type { Body, Item } from "../../api/types";
import { Button } from "../../parts/button";
import { Choice } from "../../parts/field";
import { ChoiceField, TextField, useDraft } from "../../parts/fields";
import { Form } from "../../parts/form";
import { Section } from "../../parts/page";
import { Money, Status, Time, type Tone, UntrustedText } from "../../parts/show";
import { Failure, Loaded, Skeleton } from "../../parts/states";
import styles from "./clients.module.css";
import { texts } from "./texts";

type Line = Item<"GET /api/clients/{client}/charges">;

const STATUSES = Object.entries(texts.lineStatuses) as [Line["status"], string][];
const TONES: Record<Line["status"], Tone> = { pending: "plain", approved: "accent", paid: "good", disputed: "warn" };
const now = (): string => new Date().toLocaleDateString("sv").slice(0, 7);

/** The account of a client in one month: totals and entries. */
export function Account({ client }: { client: string }) {
  const owns = useMay("owner");
  const [month, setMonth] = useState(now);
  const sums = useApi("GET /api/clients/{client}/summary", { path: { client }, query: { month, limit: 1 } });
  return (
    <Section
      title={texts.account}
      actions={
        <input
          type="month"
          aria-label={texts.month}
          className={styles.month}
          value={month}
          max={now()}
          required
          onChange={(event) => setMonth(event.target.value || now())}
        />
      }
    >
      <Loaded of={sums}>
        {(found) => (
          <dl className={styles.sums}>
            <Sum name={texts.charged} usd={found.chargedUsd} />
            <Sum name={texts.paid} usd={found.paidUsd} />
            <Sum name={texts.balance} usd={found.balanceUsd} />
          </dl>
        )}
      </Loaded>
      <Lines client={client} month={month} />
      {owns && <EnterLine client={client} />}
    </Section>
  );
}

function Sum({ name, usd }: { name: string; usd: number }) {
  return (
    <div>
      <dt className="muted">{name}</dt>
      <dd>
        <Money usd={usd} />
      </dd>
    </div>
  );
}

function Lines({ client, month }: { client: string; month: string }) {
  const owns = useMay("owner");
  const pages = useList("GET /api/clients/{client}/summary", { month, limit: 50 }, { client });
  if (pages.rows.length === 0) {
    if (pages.error !== null) return <Failure error={pages.error} retry={pages.retry} />;
    return pages.loading ? <Skeleton lines={2} /> : <p className="muted">{texts.noLines}</p>;
  }
  return (
    <>
      <ul className={styles.lines} aria-label={texts.lines}>
        {pages.rows.map((line) => (
          <li key={line.id}>
            <div className={styles.line}>
              <strong>{texts.types[line.type]}</strong>
              <span className={styles.amount}>
                <Money usd={line.amountUsd} />
              </span>
            </div>
            {line.description !== "" && (
              <p>
                <UntrustedText text={line.description} />
              </p>
            )}
            <div className={styles.line}>
              <span className="muted">
                <Time at={line.createdAt} />
              </span>
              {line.messageId !== null && <Link href={`/messages/${line.messageId}`}>{texts.message}</Link>}
              {owns ? (
                <Judge client={client} line={line} />
              ) : (
                <Status tone={TONES[line.status]}>{texts.lineStatuses[line.status]}</Status>
              )}
            </div>
          </li>
        ))}
      </ul>
      {pages.more && <Button label={texts.older} kind="quiet" onClick={pages.more} />}
    </>
  );
}

/** Set the status of an entry. */
function Judge({ client, line }: { client: string; line: Line }) {
  const judge = useSend("PATCH /api/clients/{client}/charges/{charge}", { done: texts.judged });
  return (
    <Choice
      aria-label={texts.statusOf(texts.types[line.type])}
      value={judge.isPending ? (judge.variables?.body?.status ?? line.status) : line.status}
      options={STATUSES}
      disabled={judge.isPending}
      onChange={(status) => judge.mutate({ path: { client, charge: line.id }, body: { status } })}
    />
  );
}

type Type = Body<"POST /api/clients/{client}/charges">["type"];

const TYPES: [Type, string][] = [
  ["payment", texts.types.payment],
  ["subscription", texts.types.subscription],
  ["adjustment", texts.types.adjustment],
];

/** Enter a payment or a charge. */
function EnterLine({ client }: { client: string }) {
  const { draft, set, of } = useDraft({ type: "payment" as Type, amount: "", description: "" });
  const enter = useSend("POST /api/clients/{client}/charges", { quiet: true, done: texts.entered });
  const send = () => {
    const { type, amount, description } = draft;
    const body = { type, amountUsd: Number(amount), description };
    enter.mutate({ path: { client }, body }, { onSuccess: () => set({ amount: "", description: "" }) });
  };
  return (
    <details>
      <summary>{texts.enter}</summary>
      <Form onSend={send} by={[enter]} save={texts.enter} label={texts.enter}>
        <ChoiceField label={texts.type} hint={texts.typeHint[draft.type]} options={TYPES} {...of("type")} />
        <TextField label={texts.amountField} type="number" step="any" required {...of("amount")} />
        <TextField label={texts.description} {...of("description")} />
      </Form>
    </details>
  );
}

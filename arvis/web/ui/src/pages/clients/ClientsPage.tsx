import { Pencil, X } from "lucide-react";
import { useState } from "react";
import { useApi, useList, useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import type { Answer, Item } from "../../api/types";
import { sends } from "../../parts/actions";
import { Button, IconButton } from "../../parts/button";
import { ChoiceField, TextArea, TextField, useDraft } from "../../parts/fields";
import { Form } from "../../parts/form";
import { Section } from "../../parts/page";
import { ChannelField, PlatformField } from "../../parts/place";
import { NEW, type Opening, ResourcePage, ResourceSheet } from "../../parts/resource";
import { Facts, Money, Status, Time, type Tone, UntrustedText } from "../../parts/show";
import type { Column } from "../../parts/table";
import { texts as common } from "../../parts/texts";
import { useToast } from "../../parts/toast";
import { count, money, reveal } from "../../words/format";
import { Account } from "./Account";
import styles from "./clients.module.css";
import { texts } from "./texts";

const COLUMNS: Column<Client>[] = [
  { name: texts.name, width: "minmax(120px, 2fr)", show: (client) => client.name },
  { name: texts.status, width: "100px", show: (client) => <ClientState status={client.status} /> },
  { name: texts.plan, width: "100px", wide: true, show: (client) => texts.plans[client.plan] },
  { name: texts.balance, width: "110px", show: (client) => <Money usd={client.balanceUsd} /> },
  {
    name: texts.limit,
    width: "130px",
    wide: true,
    show: (client) =>
      client.monthlyLimitUsd === null ? (
        <span className="muted">{texts.asConfigured}</span>
      ) : (
        <Money usd={client.monthlyLimitUsd} />
      ),
  },
  { name: texts.changed, width: "116px", wide: true, show: (client) => <Time at={client.updatedAt} /> },
];

/** Clients and their balances. */
export default function ClientsPage() {
  return (
    <ResourcePage
      home="/settings/clients"
      texts={texts}
      pages={useList("GET /api/clients", {})}
      columns={COLUMNS}
      idOf={(client) => client.id}
      mayAdd={useMay("owner")}
      sheet={(id, opening) => <ClientSheet id={id} {...opening} />}
    />
  );
}

type Client = Item<"GET /api/clients">;
type ClientDetail = Answer<"GET /api/clients/{client}">;

const TONES: Record<Client["status"], Tone> = { active: "good", paused: "warn", archived: "plain" };

function ClientState({ status }: { status: Client["status"] }) {
  return <Status tone={TONES[status]}>{texts.statuses[status]}</Status>;
}

/** One client: terms, channels and account. */
function ClientSheet({ id, onOpen, onClose }: { id: string } & Opening) {
  return (
    <ResourceSheet
      id={id}
      of={useApi("GET /api/clients/{client}", id === NEW ? null : { path: { client: id } })}
      texts={texts}
      title={(client) => reveal(client.name)}
      onClose={onClose}
      form={(known, close) => <ClientForm known={known} onSaved={known ? close : onOpen} onCancel={close} />}
      actions={(_, edit) => <Actions id={id} onEdit={edit} />}
    >
      {(client) => (
        <>
          <ClientFacts client={client} />
          <Channels client={client} />
          <Account client={client.id} />
        </>
      )}
    </ResourceSheet>
  );
}

function Actions({ id, onEdit }: { id: string; onEdit: () => void }) {
  const owns = useMay("owner");
  const undo = useSend("POST /api/clients/{client}/undo", { done: common.undone });
  if (!owns) return null;
  return (
    <>
      <Button label={common.edit} icon={Pencil} onClick={onEdit} />
      <Button label={texts.undo} {...sends(undo, { path: { client: id } })} />
    </>
  );
}

function ClientFacts({ client }: { client: ClientDetail }) {
  return (
    <Facts
      of={[
        [texts.balance, <Money key="balance" usd={client.balanceUsd} />],
        [texts.status, <ClientState key="status" status={client.status} />],
        [texts.plan, texts.plans[client.plan]],
        [texts.facts.price, money(client.pricePerTaskUsd)],
        [texts.facts.fee, money(client.monthlyFeeUsd)],
        [texts.factor, count(client.tokenFactor)],
        [texts.limit, client.monthlyLimitUsd === null ? texts.asConfigured : money(client.monthlyLimitUsd)],
        [texts.notes, client.notes],
      ]}
    />
  );
}

const PLANS = Object.entries(texts.plans) as [Client["plan"], string][];
const STATUSES = Object.entries(texts.statuses) as [Client["status"], string][];
const AMOUNT = { type: "number", min: 0, step: "any" } as const;

/** Amounts as typed. */
function draftOf(client: ClientDetail | undefined) {
  return {
    name: client?.name ?? "",
    plan: client?.plan ?? ("per_task" as const),
    status: client?.status ?? ("active" as const),
    price: String(client?.pricePerTaskUsd ?? 0),
    fee: String(client?.monthlyFeeUsd ?? 0),
    factor: String(client?.tokenFactor ?? 0),
    limit: client?.monthlyLimitUsd === null || client === undefined ? "" : String(client.monthlyLimitUsd),
    notes: client?.notes ?? "",
  };
}

type Props = { known?: ClientDetail; onSaved: (id: string) => void; onCancel: () => void };

/** Create a client, or change a `known` one. */
function ClientForm({ known, onSaved, onCancel }: Props) {
  const { draft, of } = useDraft(() => draftOf(known));
  const make = useSend("POST /api/clients", { quiet: true, done: texts.made });
  const change = useSend("PATCH /api/clients/{client}", { quiet: true, done: common.saved });
  const send = () => {
    const { name, plan, status, notes } = draft;
    const body = {
      ...{ name, plan, status, notes },
      pricePerTaskUsd: Number(draft.price),
      monthlyFeeUsd: Number(draft.fee),
      tokenFactor: Number(draft.factor),
      monthlyLimitUsd: draft.limit === "" ? null : Number(draft.limit),
    };
    if (known === undefined) make.mutate({ body }, { onSuccess: (made) => onSaved(made.id) });
    else change.mutate({ path: { client: known.id }, body }, { onSuccess: () => onSaved(known.id) });
  };
  return (
    <Form onSend={send} by={[make, change]} onCancel={onCancel} label={known === undefined ? texts.add : common.edit}>
      <TextField label={texts.name} required {...of("name")} />
      <ChoiceField label={texts.plan} options={PLANS} {...of("plan")} />
      <ChoiceField label={texts.status} options={STATUSES} {...of("status")} />
      <TextField label={texts.price} required {...AMOUNT} {...of("price")} />
      <TextField label={texts.fee} required {...AMOUNT} {...of("fee")} />
      <TextField label={texts.factor} hint={texts.factorHint} required {...AMOUNT} {...of("factor")} />
      <TextField label={texts.limitField} hint={texts.limitHint} {...AMOUNT} {...of("limit")} />
      <TextArea label={texts.notes} {...of("notes")} />
    </Form>
  );
}

type Channel = ClientDetail["channels"][number];

/** The channels of the client. */
function Channels({ client }: { client: ClientDetail }) {
  const owns = useMay("owner");
  return (
    <Section title={texts.channels}>
      {client.channels.length === 0 ? (
        <p className="muted">{texts.noChannels}</p>
      ) : (
        <ul className={styles.list} aria-label={texts.channels}>
          {client.channels.map((one) => (
            <li key={`${one.platform} ${one.channel}`}>
              <UntrustedText text={`${one.platform} ${one.channel}`} />
              {owns && <Unbind client={client.id} channel={one} />}
            </li>
          ))}
        </ul>
      )}
      {owns && <Bind client={client.id} />}
    </Section>
  );
}

function Unbind({ client, channel }: { client: string; channel: Channel }) {
  const { tell } = useToast();
  const unbind = useSend("DELETE /api/clients/{client}/channels");
  const bind = useSend("POST /api/clients/{client}/channels", { done: texts.bound });
  const back = { words: texts.back, act: () => bind.mutate({ path: { client }, body: channel }) };
  // The removal notice may arrive first and unmount this button: the follow-up must not depend on it.
  const drop = () =>
    unbind.mutateAsync({ path: { client }, query: channel }).then(
      () => tell(texts.unbound, back),
      () => {},
    );
  return (
    <IconButton
      icon={X}
      label={texts.unbind(reveal(channel.channel))}
      busy={unbind.isPending}
      onClick={() => void drop()}
    />
  );
}

function Bind({ client }: { client: string }) {
  const [platform, setPlatform] = useState("web");
  const [channel, setChannel] = useState("");
  const bind = useSend("POST /api/clients/{client}/channels", { quiet: true, done: texts.bound });
  const send = () =>
    bind.mutate({ path: { client }, body: { platform, channel } }, { onSuccess: () => setChannel("") });
  return (
    <details>
      <summary>{texts.addChannel}</summary>
      <Form onSend={send} by={[bind]} save={texts.addChannel} label={texts.addChannel}>
        <PlatformField value={platform} onChange={setPlatform} />
        <ChannelField platform={platform} value={channel} onChange={setChannel} />
      </Form>
    </details>
  );
}

import { Pencil } from "lucide-react";
import { useApi, useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import { Button } from "../../parts/button";
import { NEW } from "../../parts/detail";
import { type Opening, ResourceSheet } from "../../parts/resource";
import { Facts, Money, UntrustedText } from "../../parts/show";
import { texts as common } from "../../parts/texts";
import { count, money, reveal } from "../../words/format";
import { Account } from "./Account";
import { Channels } from "./Channels";
import { ClientForm } from "./ClientForm";
import { type ClientDetail, ClientState } from "./client";
import { texts } from "./texts";

/** One client: terms, channels and account. */
export function ClientSheet({ id, onOpen, onClose }: { id: string } & Opening) {
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
      <Button label={texts.undo} busy={undo.isPending} onClick={() => undo.mutate({ path: { client: id } })} />
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
        [texts.notes, client.notes === "" ? null : <UntrustedText key="notes" text={client.notes} />],
      ]}
    />
  );
}

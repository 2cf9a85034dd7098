import { Pencil } from "lucide-react";
import { useState } from "react";
import { useApi, useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import { Button } from "../../parts/button";
import { NEW } from "../../parts/detail";
import { Sheet } from "../../parts/page";
import { Facts, Money, UntrustedText } from "../../parts/show";
import { Empty, Loaded } from "../../parts/states";
import { count, money, reveal } from "../../words/format";
import { Account } from "./Account";
import { Channels } from "./Channels";
import { ClientForm } from "./ClientForm";
import { type ClientDetail, ClientState } from "./client";
import { texts } from "./texts";

const NOT_FOUND = 404;

/** One client: terms, channels and account. */
export function ClientSheet({
  id,
  onOpen,
  onClose,
}: {
  id: string;
  onOpen: (id: string) => void;
  onClose: () => void;
}) {
  const found = useApi("GET /api/clients/{client}", id === NEW ? null : { path: { client: id } });
  const [editing, setEditing] = useState(false);
  if (id === NEW) {
    return (
      <Sheet title={texts.add} onClose={onClose}>
        <ClientForm onSaved={onOpen} onCancel={onClose} />
      </Sheet>
    );
  }
  if (found.error?.status === NOT_FOUND) {
    return (
      <Sheet title={texts.gone} onClose={onClose}>
        <Empty title={texts.gone}>{texts.goneWhy}</Empty>
      </Sheet>
    );
  }
  return (
    <Sheet
      title={found.data === undefined ? "" : reveal(found.data.name)}
      onClose={onClose}
      actions={found.data && !editing && <Actions id={id} onEdit={() => setEditing(true)} />}
    >
      <Loaded of={found}>
        {(client) =>
          editing ? (
            <ClientForm known={client} onSaved={() => setEditing(false)} onCancel={() => setEditing(false)} />
          ) : (
            <>
              <ClientFacts client={client} />
              <Channels client={client} />
              <Account client={client.id} />
            </>
          )
        }
      </Loaded>
    </Sheet>
  );
}

function Actions({ id, onEdit }: { id: string; onEdit: () => void }) {
  const owns = useMay("owner");
  const undo = useSend("POST /api/clients/{client}/undo", { done: texts.undone });
  if (!owns) return null;
  return (
    <>
      <Button icon={<Pencil aria-hidden />} onClick={onEdit}>
        {texts.edit}
      </Button>
      <Button busy={undo.isPending} onClick={() => undo.mutate({ path: { client: id } })}>
        {texts.undo}
      </Button>
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

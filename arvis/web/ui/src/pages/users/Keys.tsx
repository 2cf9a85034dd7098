import type { ReactNode } from "react";
import { type Pages, useSend } from "../../api/hooks";
import type { Item } from "../../api/types";
import { AskButton } from "../../parts/askButton";
import { Sheet } from "../../parts/page";
import { Facts, Time, UntrustedText } from "../../parts/show";
import { Empty, Failure, Skeleton } from "../../parts/states";
import { Table } from "../../parts/table";
import { reveal } from "../../words/format";
import { texts } from "./texts";

export type Key = Item<"GET /api/keys">;

const agentsOf = (key: Key) =>
  key.agents.length > 0 ? key.agents.join(", ") : key.role === "chat" ? texts.every : "–";

type Props = { pages: Pages<Key>; openId: string | null; onOpen: (id: string) => void; action: ReactNode };

/** Keys that were created here; those of the configuration are not listed. */
export function Keys({ pages, openId, onOpen, action }: Props) {
  return (
    <Table
      label={texts.keys}
      pages={pages}
      idOf={(key) => key.id}
      openId={openId}
      onOpen={(key) => onOpen(key.id)}
      columns={[
        { name: texts.keyName, width: "minmax(100px, 2fr)", show: (key) => <UntrustedText text={key.name} /> },
        { name: texts.role, width: "96px", show: (key) => texts.roles[key.role] },
        { name: texts.agents, show: (key) => <bdi>{agentsOf(key)}</bdi> },
        { name: texts.madeBy, width: "112px", show: (key) => <bdi>{key.createdBy}</bdi> },
        { name: texts.used, width: "132px", show: (key) => <Time at={key.lastUsedAt} /> },
      ]}
      empty={<Empty why={texts.noKeysWhy} title={texts.noKeys} action={action} />}
    />
  );
}

export function KeySheet({ id, pages, onClose }: { id: string; pages: Pages<Key>; onClose: () => void }) {
  const revoke = useSend("DELETE /api/keys/{key}", { done: texts.revoked });
  const key = pages.rows.find((one) => one.id === id);
  if (key === undefined) {
    return (
      <Sheet title={texts.keyDetail} onClose={onClose}>
        {pages.error ? <Failure error={pages.error} retry={pages.retry} /> : pages.loading ? <Skeleton /> : null}
        {!pages.loading && !pages.error && <Empty title={texts.noSuchKey} />}
      </Sheet>
    );
  }
  return (
    <Sheet
      title={<UntrustedText text={key.name} />}
      onClose={onClose}
      actions={
        <AskButton
          kind="danger"
          busy={revoke.isPending}
          label={texts.revoke}
          words={texts.revokeWhy(reveal(key.name))}
          onYes={() => revoke.mutate({ path: { key: id } }, { onSuccess: onClose })}
        />
      }
    >
      <Facts
        of={[
          [texts.role, texts.roles[key.role]],
          ["", texts.roleWords[key.role]],
          [texts.agents, key.role === "chat" ? <bdi key="agents">{agentsOf(key)}</bdi> : null],
          [texts.madeBy, <bdi key="by">{key.createdBy}</bdi>],
          [texts.made, <Time key="made" at={key.createdAt} />],
          [texts.used, <Time key="used" at={key.lastUsedAt} />],
        ]}
      />
      <p className="muted">{texts.usedHint}</p>
    </Sheet>
  );
}

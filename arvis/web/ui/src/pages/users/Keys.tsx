import { type ReactNode, useState } from "react";
import { type Pages, useSend } from "../../api/hooks";
import type { Item } from "../../api/types";
import { AskButton, sends } from "../../parts/actions";
import { Button } from "../../parts/button";
import { Check } from "../../parts/field";
import { TextField } from "../../parts/fields";
import { Form } from "../../parts/form";
import { Sheet, useAgentOptions } from "../../parts/page";
import { Code, Facts, Time, UntrustedText } from "../../parts/show";
import { Empty, Failure, Skeleton } from "../../parts/states";
import { Table } from "../../parts/table";
import { reveal } from "../../words/format";
import { Once, type Role, RoleChoice } from "./RoleChoice";
import { texts } from "./texts";
import styles from "./users.module.css";

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
        { name: texts.keyName, width: "minmax(100px, 2fr)", show: (key) => key.name },
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
          label={texts.revoke}
          words={texts.revokeWhy(reveal(key.name))}
          {...sends(revoke, { path: { key: id } }, { onSuccess: onClose })}
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

/** Create a key, then show it once, with an example call. */
export function AddKey({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("chat");
  const [agents, setAgents] = useState<readonly string[]>([]);
  const make = useSend("POST /api/keys", { quiet: true });
  const send = () => make.mutate({ body: { name, role, ...(role === "chat" ? { agents: [...agents] } : {}) } });
  return (
    <Sheet title={texts.addKey} onClose={onClose}>
      {make.data ? (
        <>
          <Once title={texts.keyOnce} why={texts.keyOnceWhy} value={make.data.key} />
          <h3>{texts.example}</h3>
          <Code value={example(make.data.key, role)} label={texts.example} />
          <Button label={texts.done} onClick={onClose} />
        </>
      ) : (
        <Form label={texts.addKey} onSend={send} by={[make]} save={texts.make}>
          <TextField label={texts.keyName} hint={texts.keyNameHint} required value={name} onChange={setName} />
          <RoleChoice value={role} onChange={setRole} />
          {role === "chat" && <Agents chosen={agents} choose={setAgents} />}
        </Form>
      )}
    </Sheet>
  );
}

function Agents({ chosen, choose }: { chosen: readonly string[]; choose: (slugs: readonly string[]) => void }) {
  const agents = useAgentOptions();
  return (
    <fieldset className={styles.roles}>
      <legend>{texts.agents}</legend>
      <p className="muted">{texts.agentsWhy}</p>
      <div className={styles.agents}>
        {agents.map(([slug, name]) => (
          <Check
            key={slug}
            label={name}
            checked={chosen.includes(slug)}
            onChange={(on) => choose(on ? [...chosen, slug] : chosen.filter((one) => one !== slug))}
          />
        ))}
      </div>
    </fieldset>
  );
}

/** An example that the role allows: a message for chat keys, a status request for viewers. */
function example(key: string, role: Role): string {
  const curl = `curl -H "Authorization: Bearer ${key}"`;
  if (role === "viewer") return `${curl} ${location.origin}/api/overview`;
  const body = JSON.stringify({ content: "Hello" });
  return `${curl} -H "Content-Type: application/json" -d '${body}' ${location.origin}/api/messages`;
}

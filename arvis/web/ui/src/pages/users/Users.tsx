import { useState } from "react";
import { type Pages, useApi, useList, useSend } from "../../api/hooks";
import { useSession } from "../../api/session";
import type { Item } from "../../api/types";
import { AskButton, sends } from "../../parts/actions";
import { Button } from "../../parts/button";
import { TextField, useDraft } from "../../parts/fields";
import { Form, FormButtons } from "../../parts/form";
import { Section, Sheet } from "../../parts/page";
import { Status, Time, UntrustedText } from "../../parts/show";
import { Empty, Loaded } from "../../parts/states";
import { Table } from "../../parts/table";
import { texts as common } from "../../parts/texts";
import { reveal } from "../../words/format";
import { Once, type Role, RoleChoice } from "./RoleChoice";
import { texts } from "./texts";
import { Logins } from "./You";

export type User = Item<"GET /api/users">;

type Props = { pages: Pages<User>; openId: string | null; onOpen: (id: string) => void };

/** All users of the dashboard. */
export function Users({ pages, openId, onOpen }: Props) {
  const { me } = useSession();
  return (
    <Table
      label={texts.users}
      pages={pages}
      idOf={(user) => user.id}
      openId={openId}
      onOpen={(user) => onOpen(user.id)}
      columns={[
        {
          name: texts.name,
          width: "minmax(100px, 2fr)",
          show: (user) => (
            <>
              <UntrustedText text={user.name} /> {user.id === me.userId && <span className="muted">({texts.you})</span>}
            </>
          ),
        },
        { name: texts.id, show: (user) => <bdi>{user.id}</bdi> },
        { name: texts.role, width: "96px", show: (user) => texts.roles[user.role] },
        {
          name: texts.password,
          width: "96px",
          show: (user) => (
            <Status tone={user.hasPassword ? "good" : "plain"}>
              {user.hasPassword ? texts.hasOne : texts.hasNone}
            </Status>
          ),
        },
        { name: texts.since, width: "132px", show: (user) => <Time at={user.createdAt} /> },
      ]}
      empty={<Empty title={texts.users} />}
    />
  );
}

/** This user always stays an owner and cannot be removed. */
const FIRST_USER = "owner";

export function UserSheet({ id, onClose }: { id: string; onClose: () => void }) {
  const found = useApi("GET /api/users/{user}", { path: { user: id } });
  const logins = useList("GET /api/auth/sessions", { user: id });
  return (
    <Sheet title={<UntrustedText text={found.data?.name ?? id} />} onClose={onClose}>
      <Loaded of={found}>{(user) => <Edit key={user.updatedAt} user={user} />}</Loaded>
      {found.data && <Entry user={found.data} onGone={onClose} />}
      <Section title={texts.loginsOf}>
        <Logins pages={logins} />
      </Section>
    </Sheet>
  );
}

function Edit({ user }: { user: User }) {
  const [name, setName] = useState(user.name);
  const [role, setRole] = useState(user.role);
  const change = useSend("PATCH /api/users/{user}", { quiet: true, done: common.saved });
  const first = user.id === FIRST_USER;
  const send = () => change.mutate({ path: { user: user.id }, body: first ? { name } : { name, role } });
  return (
    <Form label={texts.role} onSend={send} by={[change]}>
      <TextField label={texts.name} required value={name} onChange={setName} />
      <RoleChoice value={role} onChange={setRole} disabled={first} />
      <p className="muted">{first ? texts.firstUser : texts.roleEnds}</p>
    </Form>
  );
}

/** Access of the user: a new login link, and a button that ends all logins. */
function Entry({ user, onGone }: { user: User; onGone: () => void }) {
  const link = useSend("POST /api/users/{user}/link");
  const remove = useSend("DELETE /api/users/{user}", { done: texts.removed });
  const path = { user: user.id };
  return (
    <>
      <FormButtons>
        <Button label={texts.newLink} {...sends(link, { path })} />
        {user.id !== FIRST_USER && (
          <AskButton
            kind="danger"
            label={common.delete}
            words={texts.removeWhy(reveal(user.name))}
            {...sends(remove, { path }, { onSuccess: onGone })}
          />
        )}
      </FormButtons>
      {link.data && <Once title={texts.link} why={texts.linkWhy} value={link.data.url} />}
    </>
  );
}

/** Add a user, then show their login link. */
export function AddUser({ onClose }: { onClose: () => void }) {
  const { draft, of } = useDraft({ id: "", name: "", role: "chat" as Role });
  const add = useSend("POST /api/users", { quiet: true, done: texts.added });
  const { name, ...rest } = draft;
  const send = () => add.mutate({ body: name.trim() === "" ? rest : draft });
  return (
    <Sheet title={texts.addUser} onClose={onClose}>
      {add.data ? (
        <>
          <Once title={texts.link} why={texts.linkWhy} value={add.data.link.url} />
          <Button label={texts.done} onClick={onClose} />
        </>
      ) : (
        <Form label={texts.addUser} onSend={send} by={[add]} save={texts.add}>
          <TextField
            label={texts.id}
            hint={texts.idHint}
            required
            autoCapitalize="none"
            spellCheck={false}
            {...of("id")}
          />
          <TextField label={texts.name} hint={texts.nameHint} {...of("name")} />
          <RoleChoice {...of("role")} />
        </Form>
      )}
    </Sheet>
  );
}

import { useState } from "react";
import { useApi, useList, useSend } from "../../api/hooks";
import { AskButton } from "../../parts/askButton";
import { Button } from "../../parts/button";
import { TextField } from "../../parts/fields";
import { Form, FormButtons } from "../../parts/form";
import { Section, Sheet } from "../../parts/page";
import { UntrustedText } from "../../parts/show";
import { Loaded } from "../../parts/states";
import { texts as common } from "../../parts/texts";
import { reveal } from "../../words/format";
import { Logins } from "./Logins";
import { Once } from "./Once";
import { RoleChoice } from "./RoleChoice";
import { texts } from "./texts";
import type { User } from "./Users";

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
        <Button label={texts.newLink} busy={link.isPending} onClick={() => link.mutate({ path })} />
        {user.id !== FIRST_USER && (
          <AskButton
            kind="danger"
            busy={remove.isPending}
            label={common.remove}
            words={texts.removeWhy(reveal(user.name))}
            onYes={() => remove.mutate({ path }, { onSuccess: onGone })}
          />
        )}
      </FormButtons>
      {link.data && <Once title={texts.link} why={texts.linkWhy} value={link.data.url} />}
    </>
  );
}

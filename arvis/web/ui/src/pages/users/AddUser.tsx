import { useState } from "react";
import { useSend } from "../../api/hooks";
import { Button } from "../../parts/button";
import { Field } from "../../parts/field";
import { Form, FormButtons } from "../../parts/form";
import { Sheet } from "../../parts/page";
import { Failure } from "../../parts/states";
import { Once } from "./Once";
import { type Role, RoleChoice } from "./RoleChoice";
import { texts } from "./texts";

/** Add a user, then show their login link. */
export function AddUser({ onClose }: { onClose: () => void }) {
  const [id, setId] = useState("");
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("chat");
  const add = useSend("POST /api/users", { quiet: true, done: texts.added });
  const send = () => add.mutate({ body: { id, role, ...(name.trim() === "" ? {} : { name }) } });
  return (
    <Sheet title={texts.addUser} onClose={onClose}>
      {add.data ? (
        <>
          <Once title={texts.link} why={texts.linkWhy} value={add.data.link.url} />
          <Button onClick={onClose}>{texts.done}</Button>
        </>
      ) : (
        <Form label={texts.addUser} onSend={send}>
          {add.error && <Failure error={add.error} />}
          <Field label={texts.id} hint={texts.idHint}>
            <input
              value={id}
              required
              autoComplete="off"
              autoCapitalize="none"
              spellCheck={false}
              onChange={(event) => setId(event.target.value)}
            />
          </Field>
          <Field label={texts.name} hint={texts.nameHint}>
            <input value={name} autoComplete="off" onChange={(event) => setName(event.target.value)} />
          </Field>
          <RoleChoice value={role} onChange={setRole} />
          <FormButtons>
            <Button type="submit" kind="primary" busy={add.isPending}>
              {texts.add}
            </Button>
          </FormButtons>
        </Form>
      )}
    </Sheet>
  );
}

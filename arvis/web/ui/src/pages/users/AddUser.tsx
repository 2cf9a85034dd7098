import { useSend } from "../../api/hooks";
import { Button } from "../../parts/button";
import { TextField, useDraft } from "../../parts/fields";
import { Form } from "../../parts/form";
import { Sheet } from "../../parts/page";
import { Once } from "./Once";
import { type Role, RoleChoice } from "./RoleChoice";
import { texts } from "./texts";

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

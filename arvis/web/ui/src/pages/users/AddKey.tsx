import { useState } from "react";
import { useSend } from "../../api/hooks";
import { Button } from "../../parts/button";
import { Check } from "../../parts/field";
import { TextField } from "../../parts/fields";
import { useAgentOptions } from "../../parts/filters";
import { Form } from "../../parts/form";
import { Sheet } from "../../parts/page";
import { Code } from "../../parts/show";
import { Once } from "./Once";
import { type Role, RoleChoice } from "./RoleChoice";
import { texts } from "./texts";
import styles from "./users.module.css";

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

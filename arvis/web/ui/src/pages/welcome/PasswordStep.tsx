import { useState } from "react";
import { useSend } from "../../api/hooks";
import { useSession } from "../../api/session";
import { Field } from "../../parts/field";
import { Secret } from "../../parts/fields";
import { Form } from "../../parts/form";
import { Skip, type StepProps } from "./Step";
import { texts } from "./texts";

/** A password for the next login. */
export function PasswordStep({ onDone, onSkip }: StepProps) {
  const { me, refresh } = useSession();
  const [password, setPassword] = useState("");
  const save = useSend("PUT /api/auth/password", { quiet: true });
  const send = () =>
    save.mutate(
      { body: { password } },
      {
        onSuccess: () => {
          refresh();
          onDone();
        },
      },
    );
  return (
    <Form
      onSend={send}
      by={[save]}
      save={texts.password.save}
      label={texts.password.title}
      buttons={<Skip onSkip={onSkip} />}
    >
      <input className="hidden" autoComplete="username" value={me.userId} readOnly tabIndex={-1} aria-hidden />
      <Field label={texts.password.field} hint={texts.password.hint}>
        <Secret required autoFocus autoComplete="new-password" onText={setPassword} />
      </Field>
    </Form>
  );
}

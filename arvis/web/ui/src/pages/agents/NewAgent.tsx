import { useState } from "react";
import { useLocation } from "wouter";
import { useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import { Button, ButtonLink } from "../../parts/button";
import { Field } from "../../parts/field";
import { Form, FormButtons } from "../../parts/form";
import { Page } from "../../parts/page";
import { Empty, Failure } from "../../parts/states";
import { texts as common } from "../../parts/texts";
import { useKeptDraft } from "../../parts/unsaved";
import { AgentFields } from "./AgentFields";
import { type Draft, FRESH, slugFor, written } from "./draft";
import { texts } from "./texts";

const HOME = "/agents";

/** Create an agent. The slug follows the name until the user edits it. */
export function NewAgent() {
  const [, navigate] = useLocation();
  const owns = useMay("owner");
  const [draft, setDraft, forget] = useKeptDraft<Draft>("agent.new", FRESH);
  const [ownSlug, setOwnSlug] = useState<string | null>(null);
  const create = useSend("POST /api/agents", { quiet: true, done: texts.created });
  const slug = ownSlug ?? slugFor(draft.name);
  const send = () =>
    create.mutate(
      { body: { slug, ...written(draft) } },
      {
        onSuccess: (made) => {
          forget();
          navigate(`${HOME}/${encodeURIComponent(made.slug)}`);
        },
      },
    );
  return (
    <Page title={texts.add} about={texts.createFirst}>
      {owns ? (
        <Form label={texts.add} onSend={send} kept>
          <Field label={texts.fields.name} hint={texts.nameHint}>
            <input
              value={draft.name}
              required
              maxLength={100}
              autoComplete="off"
              onChange={(event) => setDraft({ ...draft, name: event.target.value })}
            />
          </Field>
          <Field label={texts.slug} hint={texts.slugHint}>
            <input
              value={slug}
              required
              maxLength={64}
              autoComplete="off"
              spellCheck={false}
              onChange={(event) => setOwnSlug(event.target.value)}
            />
          </Field>
          <AgentFields draft={draft} change={(some) => setDraft({ ...draft, ...some })} self={slug} />
          {create.error && <Failure error={create.error} />}
          <FormButtons>
            <Button type="submit" kind="primary" busy={create.isPending}>
              {texts.create}
            </Button>
            <ButtonLink href={HOME}>{common.cancel}</ButtonLink>
          </FormButtons>
        </Form>
      ) : (
        <Empty title={texts.ownersOnly} action={<ButtonLink href={HOME}>{texts.all}</ButtonLink>} />
      )}
    </Page>
  );
}

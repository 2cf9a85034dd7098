import { useState } from "react";
import { Route, Switch, useLocation } from "wouter";
import { useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import { ButtonLink } from "../../parts/button";
import { TextField } from "../../parts/fields";
import { Form } from "../../parts/form";
import { Page } from "../../parts/page";
import { Empty } from "../../parts/states";
import { texts as common } from "../../parts/texts";
import { useKeptDraft } from "../../parts/unsaved";
import { AgentFields } from "./AgentFields";
import { AgentPage } from "./AgentPage";
import { AgentTable } from "./AgentTable";
import { type Draft, FRESH, slugFor, written } from "./draft";
import { texts } from "./texts";

/** All agents, a new one, or one of them with its tabs. */
export default function AgentsPage() {
  return (
    <Switch>
      <Route path="/agents" component={AgentTable} />
      <Route path="/agents/new" component={NewAgent} />
      <Route path="/agents/:slug/:tab?">{({ slug, tab = "" }) => <AgentPage key={slug} slug={slug} tab={tab} />}</Route>
    </Switch>
  );
}

const HOME = "/agents";

/** Create an agent. The slug follows the name until the user edits it. */
function NewAgent() {
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
        <Form
          label={texts.add}
          onSend={send}
          by={[create]}
          save={texts.create}
          buttons={<ButtonLink label={common.cancel} href={HOME} />}
          kept
        >
          <TextField
            label={texts.fields.name}
            hint={texts.nameHint}
            required
            maxLength={100}
            value={draft.name}
            onChange={(name) => setDraft({ ...draft, name })}
          />
          <TextField
            label={texts.slug}
            hint={texts.slugHint}
            required
            maxLength={64}
            spellCheck={false}
            value={slug}
            onChange={setOwnSlug}
          />
          <AgentFields draft={draft} change={(some) => setDraft({ ...draft, ...some })} self={slug} />
        </Form>
      ) : (
        <Empty title={texts.ownersOnly} action={<ButtonLink label={texts.all} href={HOME} />} />
      )}
    </Page>
  );
}

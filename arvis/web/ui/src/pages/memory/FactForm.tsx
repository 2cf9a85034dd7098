import { useState } from "react";
import { useApi, useSend } from "../../api/hooks";
import { Button } from "../../parts/button";
import { Choice, Field } from "../../parts/field";
import { Form, FormButtons } from "../../parts/form";
import { Failure } from "../../parts/states";
import { useToast } from "../../parts/toast";
import { reveal } from "../../words/format";
import type { Fact } from "./FactTable";
import { scopeOf, usePeople } from "./people";
import { texts } from "./texts";

const CATEGORIES = Object.entries(texts.categories) as [Fact["category"], string][];
const EVERYWHERE = "agent";
const OTHER = "*";

/** Add a fact for an agent to remember. */
export function FactForm({ agent: chosen, onKept }: { agent: string; onKept: (id: string) => void }) {
  const agents = useApi("GET /api/agents", {});
  const people = usePeople();
  const { tell } = useToast();
  const [agent, setAgent] = useState(chosen);
  const [content, setContent] = useState("");
  const [category, setCategory] = useState<Fact["category"]>("learned_pattern");
  const [whose, setWhose] = useState(EVERYWHERE);
  const [place, setPlace] = useState("");
  const keep = useSend("POST /api/memory", { quiet: true });
  const known = agents.data?.items ?? [];
  const slug = agent || (known[0]?.slug ?? "");
  const body = { agent: slug, content, category, scope: whose === OTHER ? place.trim() : whose };
  const send = () =>
    keep.mutate(
      { body },
      {
        onSuccess: (fact) => {
          tell(texts.kept[fact.outcome] ?? fact.outcome);
          onKept(fact.id);
        },
      },
    );
  return (
    <Form label={texts.add} onSend={send}>
      <Field label={texts.content} hint={texts.contentHint}>
        <textarea
          value={content}
          required
          rows={4}
          maxLength={2000}
          onChange={(event) => setContent(event.target.value)}
        />
      </Field>
      <Field label={texts.agent} hint={texts.agentHint}>
        <Choice value={slug} options={known.map((one) => [one.slug, reveal(one.name)] as const)} onChange={setAgent} />
      </Field>
      <Field label={texts.category}>
        <Choice value={category} options={CATEGORIES} onChange={setCategory} />
      </Field>
      <Field label={texts.whose} hint={texts.whoseHint}>
        <Choice
          value={whose}
          options={[
            [EVERYWHERE, texts.everywhere],
            ...[...people.names].map(([id, name]) => [scopeOf(id), reveal(name)] as const),
            [OTHER, texts.otherScope],
          ]}
          onChange={setWhose}
        />
      </Field>
      {whose === OTHER && (
        <Field label={texts.scope} hint={texts.scopeHint}>
          <input value={place} required autoComplete="off" onChange={(event) => setPlace(event.target.value)} />
        </Field>
      )}
      {keep.error && <Failure error={keep.error} />}
      <FormButtons>
        <Button type="submit" kind="primary" busy={keep.isPending}>
          {texts.save}
        </Button>
      </FormButtons>
    </Form>
  );
}

import { useSend } from "../../api/hooks";
import type { Answer } from "../../api/types";
import { ChoiceField, TextArea, TextField, useDraft } from "../../parts/fields";
import { useAgentOptions } from "../../parts/filters";
import { Form } from "../../parts/form";
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
  const agents = useAgentOptions();
  const people = usePeople();
  const { tell } = useToast();
  const { draft, of } = useDraft({
    agent: chosen,
    content: "",
    category: "learned_pattern" as Fact["category"],
    whose: EVERYWHERE,
    place: "",
  });
  const { content, category, whose, place } = draft;
  const keep = useSend("POST /api/memory", { quiet: true });
  const agent = draft.agent || (agents[0]?.[0] ?? "");
  const send = () => {
    const body = { agent, content, category, scope: whose === OTHER ? place.trim() : whose };
    const kept = (fact: Answer<"POST /api/memory">) => {
      tell(texts.kept[fact.outcome] ?? fact.outcome);
      onKept(fact.id);
    };
    keep.mutate({ body }, { onSuccess: kept });
  };
  return (
    <Form label={texts.add} onSend={send} by={[keep]}>
      <TextArea label={texts.content} hint={texts.contentHint} required rows={4} maxLength={2000} {...of("content")} />
      <ChoiceField label={texts.agent} hint={texts.agentHint} options={agents} {...of("agent")} value={agent} />
      <ChoiceField label={texts.category} options={CATEGORIES} {...of("category")} />
      <ChoiceField
        label={texts.whose}
        hint={texts.whoseHint}
        options={[
          [EVERYWHERE, texts.everywhere],
          ...[...people.names].map(([id, name]) => [scopeOf(id), reveal(name)] as const),
          [OTHER, texts.otherScope],
        ]}
        {...of("whose")}
      />
      {whose === OTHER && <TextField label={texts.scope} hint={texts.scopeHint} required {...of("place")} />}
    </Form>
  );
}

import { Plus } from "lucide-react";
import { Route, Switch, useLocation } from "wouter";
import { useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import type { Answer } from "../../api/types";
import { ButtonLink } from "../../parts/button";
import { ChoiceField, TextArea, TextField, useDraft } from "../../parts/fields";
import { Form } from "../../parts/form";
import {
  AgentFilter,
  Chips,
  FilterChoice,
  Page,
  SearchField,
  Sheet,
  useAgentOptions,
  useFilters,
} from "../../parts/page";
import { NEW, useDetail } from "../../parts/resource";
import { useToast } from "../../parts/toast";
import { reveal } from "../../words/format";
import { FactSheet } from "./FactSheet";
import { type Fact, FactTable } from "./FactTable";
import styles from "./memory.module.css";
import { ScopeFilter, scopeOf, usePeople } from "./people";
import { HOME, MemoryTabs, States } from "./States";
import { texts } from "./texts";
import { NO_DAYS, statedTimes, TimeFields } from "./times";

const CATEGORIES = Object.entries(texts.categories) as [Fact["category"], string][];
const { active: ACTIVE, ...OTHERS } = texts.statuses;

/** Memory of agents: facts, and values under keys. */
export default function MemoryPage() {
  return (
    <Switch>
      <Route path="/memory/states" component={States} />
      <Route component={Facts} />
    </Switch>
  );
}

function Facts() {
  const [, navigate] = useLocation();
  const { id, open, close } = useDetail(HOME);
  const looksAfter = useMay("viewer");
  const mayAdd = useMay("operator");
  const { status, category, agent, scope, q } = useFilters("status", "category", "agent", "scope", "q");
  const add = mayAdd && (
    <ButtonLink label={texts.add} kind="primary" href={`${HOME}/${NEW}${location.search}`} icon={Plus} />
  );
  return (
    <Page
      title={texts.title}
      about={looksAfter ? texts.about : texts.aboutOwn}
      actions={add}
      sheet={
        id === NEW ? (
          <Sheet title={texts.add} onClose={close}>
            <FactForm agent={agent} onKept={(kept) => navigate(`${HOME}/${kept}`)} />
          </Sheet>
        ) : (
          id && <FactSheet key={id} id={id} onClose={close} />
        )
      }
    >
      <MemoryTabs current={HOME} />
      <div className={styles.filters}>
        <Chips label={texts.status} name="status" all={ACTIVE} options={Object.entries(OTHERS)} />
        <FilterChoice label={texts.category} name="category" all={texts.everyCategory} options={CATEGORIES} />
        {looksAfter && <AgentFilter />}
        {looksAfter && <ScopeFilter />}
        <SearchField label={texts.search} />
      </div>
      <FactTable
        filter={{ ...{ agent, scope, q, status: status as Fact["status"], category: category as Fact["category"] } }}
        openId={id}
        onOpen={(fact) => open(fact.id)}
        action={add}
      />
    </Page>
  );
}

const EVERYWHERE = "agent";
const OTHER = "*";

/** Add a fact for an agent to remember. */
function FactForm({ agent: chosen, onKept }: { agent: string; onKept: (id: string) => void }) {
  const agents = useAgentOptions();
  const people = usePeople();
  const { tell } = useToast();
  const { draft, of } = useDraft({
    agent: chosen,
    content: "",
    category: "learned_pattern" as Fact["category"],
    whose: EVERYWHERE,
    place: "",
    ...NO_DAYS,
  });
  const { content, category, whose, place } = draft;
  const keep = useSend("POST /api/memory", { quiet: true });
  const agent = draft.agent || (agents[0]?.[0] ?? "");
  const send = () => {
    const body = { agent, content, category, scope: whose === OTHER ? place.trim() : whose, ...statedTimes(draft) };
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
      <TimeFields of={of} />
    </Form>
  );
}

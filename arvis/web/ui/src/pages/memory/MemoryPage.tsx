import { Plus } from "lucide-react";
import { Route, Switch, useLocation } from "wouter";
import { useMay } from "../../api/session";
import { ButtonLink } from "../../parts/button";
import { NEW, useDetail } from "../../parts/detail";
import { AgentFilter, FilterChoice } from "../../parts/filters";
import { Chips, Page, SearchField, Sheet, useFilters } from "../../parts/page";
import { FactForm } from "./FactForm";
import { FactSheet } from "./FactSheet";
import { type Fact, FactTable } from "./FactTable";
import { HOME, MemoryTabs } from "./MemoryTabs";
import styles from "./memory.module.css";
import { ScopeFilter } from "./people";
import { States } from "./States";
import { texts } from "./texts";

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
        filter={{
          ...{ agent, scope, q, status: status as Fact["status"], category: category as Fact["category"] },
        }}
        openId={id}
        onOpen={(fact) => open(fact.id)}
        action={add}
      />
    </Page>
  );
}

import { Trash2 } from "lucide-react";
import { useList, useSend } from "../../api/hooks";
import { useMay, useSession } from "../../api/session";
import type { Item } from "../../api/types";
import { AskButton, sends } from "../../parts/actions";
import { AgentFilter, Page, Sheet, useFilter, useFilters } from "../../parts/page";
import { Code, Facts, Time } from "../../parts/show";
import { EmptyList, Table } from "../../parts/table";
import { Tabs } from "../../parts/tabs";
import { reveal } from "../../words/format";
import styles from "./memory.module.css";
import { Person, Scope, ScopeFilter } from "./people";
import { texts } from "./texts";

type State = Item<"GET /api/memory/states">;

const idOf = (state: State): string => `${state.agent}/${state.scope}/${state.key}`;

/** Values that agents store under keys. */
export function States() {
  const looksAfter = useMay("viewer");
  const { agent, scope } = useFilters("agent", "scope");
  const [openId, open] = useFilter("open");
  const pages = useList("GET /api/memory/states", { agent, scope });
  const chosen = pages.rows.find((state) => idOf(state) === openId);
  return (
    <Page
      title={texts.title}
      about={looksAfter ? texts.about : texts.aboutOwn}
      sheet={chosen && <Detail key={openId} state={chosen} onClose={() => open("")} />}
    >
      <MemoryTabs current="/memory/states" />
      {looksAfter && (
        <div className={styles.filters}>
          <AgentFilter />
          <ScopeFilter />
        </div>
      )}
      <Table
        label={texts.states}
        pages={pages}
        idOf={idOf}
        openId={openId}
        onOpen={(state) => open(idOf(state))}
        columns={[
          { name: texts.key, show: (state) => state.key },
          { name: texts.value, width: "minmax(140px, 2fr)", show: (state) => state.value },
          { name: texts.agent, show: (state) => state.agent },
          { name: texts.whose, show: (state) => <Scope scope={state.scope} /> },
          { name: texts.changed, width: "120px", show: (state) => <Time at={state.updatedAt} /> },
        ]}
        empty={
          <EmptyList
            texts={{ ...texts, empty: texts.emptyStates, emptyWhy: texts.emptyStatesWhy }}
            filtered={Boolean(agent || scope)}
          />
        }
      />
    </Page>
  );
}

function Detail({ state, onClose }: { state: State; onClose: () => void }) {
  const { me } = useSession();
  const looksAfter = useMay("viewer");
  const mayChange = useMay("operator") || me.role === "chat";
  const remove = useSend("DELETE /api/memory/states", { done: texts.deletedState });
  const { agent, scope, key } = state;
  return (
    <Sheet
      title={reveal(key)}
      onClose={onClose}
      actions={
        mayChange && (
          <AskButton
            kind="danger"
            icon={Trash2}
            label={texts.delete}
            title={texts.deleteState}
            words={texts.deleteStateWhy(reveal(key))}
            {...sends(remove, { query: { agent, scope, key } }, { onSuccess: onClose })}
          />
        )
      }
    >
      <Code value={state.value} label={texts.value} />
      <Facts
        of={[
          [texts.agent, agent],
          [texts.whose, looksAfter ? <Scope key="scope" scope={scope} /> : null],
          [texts.author, state.authorId && looksAfter ? <Person key="author" id={state.authorId} /> : null],
          [
            texts.taint,
            state.taint.length === 0 ? null : state.taint.map((one) => texts.taints[one] ?? reveal(one)).join(", "),
          ],
          [texts.changed, <Time key="at" at={state.updatedAt} />],
        ]}
      />
    </Sheet>
  );
}

export const HOME = "/memory";

/** The kinds of memory: facts and values. */
export function MemoryTabs({ current }: { current: string }) {
  return (
    <Tabs
      label={texts.parts}
      current={current}
      tabs={[
        [HOME, texts.facts],
        [`${HOME}/states`, texts.states],
      ]}
    />
  );
}

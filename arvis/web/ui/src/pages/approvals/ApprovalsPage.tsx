import { useList } from "../../api/hooks";
import type { Query } from "../../api/types";
import { AgentFilter } from "../../parts/agentFilter";
import { Button } from "../../parts/button";
import { useDetail } from "../../parts/detail";
import { Choice } from "../../parts/field";
import { Chips, Page, useFilter } from "../../parts/page";
import { Empty, Failure, Skeleton } from "../../parts/states";
import { texts as common } from "../../parts/texts";
import { Answered } from "./Answered";
import styles from "./approvals.module.css";
import { texts } from "./texts";
import { WaitCard } from "./WaitCard";
import { WaitSheet } from "./WaitSheet";
import type { Wait } from "./wait";

const KINDS = Object.entries(texts.kinds) as [Wait["kind"], string][];
const ANSWERED = "answered";

/** What waits for a person's word, and what was decided. */
export default function ApprovalsPage() {
  const [state] = useFilter("state");
  const [kind, setKind] = useFilter("kind");
  const [agent] = useFilter("agent");
  const { id, open, close } = useDetail("/approvals");
  const query = { kind: kind as Wait["kind"], agent };
  return (
    <Page
      title={texts.title}
      about={texts.about}
      filters={
        <>
          <Chips label={texts.state} name="state" all={texts.open} options={[[ANSWERED, texts.answered]]} />
          <Choice aria-label={texts.kind} value={kind} options={[["", texts.everyKind], ...KINDS]} onChange={setKind} />
          <AgentFilter />
        </>
      }
      sheet={id && <WaitSheet key={id} id={id} onClose={close} />}
    >
      {state === ANSWERED ? (
        <Answered query={query} openId={id} onOpen={open} />
      ) : (
        <Open query={query} openId={id} filtered={Boolean(kind || agent)} onOpen={open} />
      )}
    </Page>
  );
}

function Open({
  query,
  openId,
  filtered,
  onOpen,
}: {
  query: Query<"GET /api/waits">;
  openId: string | null;
  filtered: boolean;
  onOpen: (id: string) => void;
}) {
  const waits = useList("GET /api/waits", { ...query, open: true });
  if (waits.rows.length > 0) {
    return (
      <div className={styles.cards}>
        {waits.rows.map((wait) => (
          <WaitCard key={wait.id} wait={wait} open={wait.id === openId} onOpen={() => onOpen(wait.id)} />
        ))}
        {waits.more !== null && <Button onClick={waits.more}>{common.more}</Button>}
      </div>
    );
  }
  if (waits.error !== null) return <Failure error={waits.error} retry={waits.retry} />;
  if (waits.loading) return <Skeleton />;
  if (filtered) return <Empty title={texts.noMatch}>{texts.noMatchWords}</Empty>;
  return <Empty title={texts.empty}>{texts.emptyWords}</Empty>;
}

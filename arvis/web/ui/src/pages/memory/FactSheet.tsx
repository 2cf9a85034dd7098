import { Check, Trash2, Undo2 } from "lucide-react";
import { useLocation } from "wouter";
import { useApi, useSend } from "../../api/hooks";
import { useMay, useSession } from "../../api/session";
import type { Answer } from "../../api/types";
import { AskButton } from "../../parts/actions";
import { Button } from "../../parts/button";
import { TextArea, useDraft } from "../../parts/fields";
import { Form } from "../../parts/form";
import { useKey } from "../../parts/keys";
import { ResourceSheet } from "../../parts/resource";
import { Facts, linkTo, Time } from "../../parts/show";
import { texts as common } from "../../parts/texts";
import { type Step, Timeline } from "../../parts/timeline";
import { useToast } from "../../parts/toast";
import { count, reveal } from "../../words/format";
import { FactState } from "./FactTable";
import styles from "./memory.module.css";
import { type People, Person, Scope, usePeople } from "./people";
import { texts } from "./texts";
import { daysOf, sameDays, TimeFields, timesOf } from "./times";

type Detail = Answer<"GET /api/memory/{fact}">;

/** One fact: content, source, history and actions. */
export function FactSheet({ id, onClose }: { id: string; onClose: () => void }) {
  const people = usePeople();
  const { me } = useSession();
  const mayCorrect = useMay("operator") || me.role === "chat";
  return (
    <ResourceSheet
      of={useApi("GET /api/memory/{fact}", { path: { fact: id } })}
      texts={texts}
      title={() => texts.fact}
      onClose={onClose}
      actions={(fact) => <Actions fact={fact} />}
    >
      {(fact) => (
        <>
          <p className={styles.content}>{reveal(fact.content)}</p>
          {fact.taint.length > 0 && <Doubt taint={fact.taint} />}
          <About fact={fact} />
          {fact.replaces.length > 0 && <Replaced facts={fact.replaces} />}
          <h3>{texts.history}</h3>
          <Timeline steps={fact.changes.map((change) => stepOf(change, people))} />
          {mayCorrect && (fact.status === "active" || fact.status === "ended") && <Correction fact={fact} />}
        </>
      )}
    </ResourceSheet>
  );
}

function Doubt({ taint }: { taint: readonly string[] }) {
  const sources = taint.map((label) => texts.taints[label] ?? reveal(label)).join(", ");
  return (
    <p className={styles.doubt}>
      {texts.taint} {sources}. {texts.confirmWhy}
    </p>
  );
}

function About({ fact }: { fact: Detail }) {
  const looksAfter = useMay("viewer");
  const confirmed = fact.changes.filter((change) => change.change === "confirmed").length;
  const times = (number: number) => (number === 0 ? texts.never : texts.times(number, count(number)));
  return (
    <Facts
      of={[
        [texts.status, <FactState key="status" status={fact.status} />],
        [texts.number, count(fact.number)],
        [texts.agent, looksAfter ? linkTo("/agents", fact.agent) : fact.agent],
        [texts.whose, looksAfter && <Scope key="scope" scope={fact.scope} />],
        [texts.category, texts.categories[fact.category]],
        [texts.trust, texts.percent(count(Math.round(fact.confidence * 100)))],
        [texts.confirmations, confirmed === 0 ? null : times(confirmed)],
        [texts.author, fact.authorId && looksAfter && <Person key="author" id={fact.authorId} />],
        [texts.source, looksAfter && <Source key="source" fact={fact} />],
        [texts.used, times(fact.accessCount)],
        [texts.lastUsed, fact.accessCount > 0 && <Time key="used" at={fact.accessedAt} />],
        [texts.created, <Time key="created" at={fact.createdAt} />],
        [texts.trueFrom, fact.validFrom !== null && <Time key="from" at={fact.validFrom} />],
        [texts.trueUntil, fact.validUntil !== null && <Time key="until" at={fact.validUntil} />],
        [texts.expires, fact.expiresAt !== null && <Time key="expires" at={fact.expiresAt} />],
        [texts.replacedBy, linkTo("/memory", fact.supersededBy, texts.thisFact)],
      ]}
    />
  );
}

/** The facts that a fact has replaced, each with its source. */
function Replaced({ facts }: { facts: Detail["replaces"] }) {
  const looksAfter = useMay("viewer");
  return (
    <>
      <h3>{texts.replaces}</h3>
      <ul>
        {facts.map((old) => (
          <li key={old.id}>
            {linkTo("/memory", old.id, reveal(old.content))}
            {old.validUntil !== null && (
              <>
                {" · "}
                {texts.trueUntil} <Time at={old.validUntil} />
              </>
            )}
            {looksAfter && (
              <>
                {" · "}
                <Source fact={old} />
              </>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}

/** Replace the fact by the correct text, and set its times. The old text stays in the history. */
function Correction({ fact }: { fact: Detail }) {
  const [, navigate] = useLocation();
  const { tell } = useToast();
  const { draft, of } = useDraft({ content: fact.content, ...daysOf(fact) });
  const correct = useSend("PATCH /api/memory/{fact}", { quiet: true });
  const send = () =>
    correct.mutate(
      { path: { fact: fact.id }, body: { content: draft.content, ...timesOf(draft, fact) } },
      {
        onSuccess: (kept) => {
          tell(texts.corrected);
          navigate(`/memory/${kept.id}`);
        },
      },
    );
  return (
    <Form
      label={texts.correct}
      save={texts.correct}
      disabled={draft.content.trim() === fact.content && sameDays(draft, daysOf(fact))}
      onSend={send}
      by={[correct]}
    >
      <TextArea
        label={texts.correctText}
        hint={texts.correctHint}
        required
        rows={3}
        maxLength={2000}
        {...of("content")}
      />
      <TimeFields of={of} />
    </Form>
  );
}

function Source({ fact }: { fact: Pick<Detail, "messageId" | "executionId"> }) {
  const message = linkTo("/messages", fact.messageId, texts.message);
  return message ?? linkTo("/executions", fact.executionId, texts.execution) ?? texts.noSource;
}

function stepOf(change: Detail["changes"][number], people: People): Step {
  return {
    at: change.at,
    title: texts.changes[change.change] ?? change.change,
    who: people.names.get(change.changedById) ?? change.changedById,
    tone: change.change === "confirmed" ? "done" : "plain",
    detail: linkTo("/memory", change.replacedById, texts.thisFact) ?? (change.undoes ? texts.takenBack : undefined),
  };
}

function Actions({ fact }: { fact: Detail }) {
  const { me } = useSession();
  const { tell } = useToast();
  const mayConfirm = useMay("operator") && fact.status === "active" && fact.taint.length > 0;
  const mayChange = useMay("operator") || me.role === "chat";
  const path = { fact: fact.id };
  const confirm = useSend("POST /api/memory/{fact}/confirm", { done: texts.confirmed });
  const remove = useSend("DELETE /api/memory/{fact}");
  const undo = useSend("POST /api/memory/undo");
  const takeBack = () =>
    undo.mutate({ body: { agent: fact.agent, scope: fact.scope } }, { onSuccess: () => tell(common.undone) });
  const vouch = () => confirm.mutate({ path });
  useKey("a", mayConfirm && !confirm.isPending ? vouch : null);
  const drop = () =>
    remove.mutate({ path }, { onSuccess: () => tell(texts.deleted, { words: common.undo, act: takeBack }) });
  return (
    <>
      {mayConfirm && (
        <Button
          label={texts.confirm}
          kind="primary"
          icon={Check}
          aria-keyshortcuts="a"
          busy={confirm.isPending}
          onClick={vouch}
        />
      )}
      {mayChange && (
        <AskButton
          icon={Undo2}
          busy={undo.isPending}
          label={texts.undoNewest}
          yes={common.undo}
          words={texts.undoNewestWhy(reveal(fact.agent))}
          danger={false}
          onClick={takeBack}
        />
      )}
      {mayChange && fact.status !== "deleted" && (
        <Button label={texts.delete} kind="danger" icon={Trash2} busy={remove.isPending} onClick={drop} />
      )}
    </>
  );
}

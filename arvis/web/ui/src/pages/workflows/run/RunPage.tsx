import { ArrowLeft, RotateCcw, X } from "lucide-react";
import { useMemo } from "react";
import { Link, useLocation } from "wouter";
import { useApi, useSend } from "../../../api/hooks";
import { useMay } from "../../../api/session";
import { Button, ButtonLink } from "../../../parts/button";
import { useAsk } from "../../../parts/dialog";
import { Markdown } from "../../../parts/markdown";
import { Page, Section, useFilter } from "../../../parts/page";
import { Raw } from "../../../parts/raw";
import { Code, type Fact, Facts, linkTo, Money, Time, UntrustedText } from "../../../parts/show";
import { Empty, Loaded } from "../../../parts/states";
import { Summary } from "../../../parts/timeline";
import { count, reveal } from "../../../words/format";
import { nameOf } from "../../../workflow/canvas/look";
import { handlesOf } from "../../../workflow/node";
import type { WorkflowDocument } from "../../../workflow/types";
import { Decide } from "../../questions/Decide";
import { Drawn } from "../Drawn";
import { addressOf, documentOf, isLive, type RunDetail, RunState, Source, took } from "../workflow";
import { useLog, useRunEvents } from "./live";
import { NodePanel } from "./NodePanel";
import { RunLog } from "./RunLog";
import styles from "./run.module.css";
import { seenFirst, shownStatus, statesOf, summaryOf, takenIn } from "./runState";
import { texts } from "./texts";
import { callsOf } from "./tree";

const NOT_FOUND = 404;

/** One run: the diagram with live states, the log beside it, and open questions. */
export function RunPage({ id }: { id: string }) {
  const run = useApi("GET /api/runs/{run}", { path: { run: id } });
  const drawn = useApi("GET /api/runs/{run}/document", { path: { run: id } });
  const workflow = useApi(
    "GET /api/workflows/{workflow}",
    run.data ? { path: { workflow: run.data.workflow.id } } : null,
  );
  useRunEvents(run.data);
  const { data } = run;
  if (run.error?.status === NOT_FOUND) {
    return (
      <Page title={texts.title}>
        <Empty why={texts.goneWhy} title={texts.gone} />
      </Page>
    );
  }
  const newer = data !== undefined && (workflow.data?.runnable ?? data.version) !== data.version;
  return (
    <Page
      title={data === undefined ? texts.title : reveal(data.workflow.name)}
      about={data && texts.about(count(data.version))}
      actions={data && <RunActions run={data} newest={newer} />}
    >
      <Loaded of={run}>
        {(known) => (
          <Loaded of={drawn}>{(shown) => <View key={known.id} run={known} document={documentOf(shown)} />}</Loaded>
        )}
      </Loaded>
    </Page>
  );
}

function View({ run, document }: { run: RunDetail; document: WorkflowDocument }) {
  const [chosen, choose] = useFilter("node");
  const operates = useMay("operator");
  const { again } = useAgain(run);
  const log = useLog(run);
  const nodes = useMemo(() => new Map(document.nodes.map((node) => [node.id, node])), [document]);
  const calls = useMemo(() => callsOf(log.lines), [log.lines]);
  const states = useMemo(() => statesOf(run, document, calls.all), [run, document, calls]);
  const taken = useMemo(() => takenIn(run, document, log.lines), [run, document, log.lines]);
  const named = (id: string) => {
    const node = nodes.get(id);
    return node === undefined ? id : nameOf(node);
  };
  const wayNamed = (id: string, handle: string) => {
    const from = nodes.get(id);
    const way = from && handlesOf(from).sources.find((one) => one.id === handle);
    return way?.name ?? handle;
  };
  const node = nodes.get(chosen);
  return (
    <>
      <div className={styles.head}>
        <RunState status={shownStatus(run)} />
        <Summary>{summaryOf(run, document)}</Summary>
      </div>
      <Questions run={run} />
      <div className={styles.run}>
        <div className={styles.drawing}>
          <Drawn
            document={document}
            label={texts.drawingOf(reveal(run.workflow.name))}
            states={states}
            taken={taken}
            chosen={chosen}
            onChoose={choose}
            follow={seenFirst(states)}
          />
          {node && (
            <NodePanel
              run={run}
              document={document}
              node={node}
              status={states[node.id] ?? { state: "pending" }}
              lines={log.lines}
              onAgain={operates ? () => again(node.id) : null}
              onClose={() => choose("")}
            />
          )}
        </div>
        <div className={styles.events}>
          <Section
            title={node === undefined ? texts.log : texts.logOf(reveal(nameOf(node)))}
            actions={
              node && (
                <button type="button" className={styles.who} onClick={() => choose("")}>
                  {texts.all}
                </button>
              )
            }
          >
            <RunLog
              log={log}
              calls={calls}
              began={run.startedAt}
              nameOf={named}
              wayOf={wayNamed}
              node={node?.id ?? ""}
              onNode={choose}
            />
          </Section>
          <Result run={run} />
        </div>
      </div>
      <Section title={texts.facts}>
        <About run={run} />
        {run.children.length > 0 && <Children of={run.children} />}
        <Raw title={texts.raw} value={run} />
      </Section>
    </>
  );
}

/** Open questions of the run, which users who may answer them answer here. */
function Questions({ run }: { run: RunDetail }) {
  return run.questions
    .filter((wait) => wait.answeredAt === null)
    .map((wait, place) => (
      <section key={wait.id} className={styles.question} aria-label={texts.question}>
        <h2>{texts.question}</h2>
        <p className={styles.prompt}>
          <UntrustedText text={wait.change?.text ?? wait.prompt} />
        </p>
        <Decide wait={wait} keys={place === 0} />
      </section>
    ));
}

function Result({ run }: { run: RunDetail }) {
  if (run.result === null || run.result === undefined || run.result === "") return null;
  return (
    <Section title={texts.result}>
      {typeof run.result === "string" ? (
        <Markdown text={run.result} />
      ) : (
        <Code value={run.result} label={texts.result} />
      )}
    </Section>
  );
}

function About({ run }: { run: RunDetail }) {
  const { input } = run;
  const facts: Fact[] = [
    [texts.input, input === null || input === undefined || input === "" ? null : <Input key="input" value={input} />],
    [texts.source, <Source key="source" source={run.source} />],
    [texts.began, <Time key="began" at={run.startedAt} />],
    [texts.ended, run.endedAt !== null && <Time key="ended" at={run.endedAt} />],
    [texts.took, took(run)],
    [texts.cost, run.costUsd > 0 && <Money key="cost" usd={run.costUsd} />],
    [texts.rerunOf, linkTo(addressOf(run.workflow.id, "runs"), run.rerunOf, texts.earlierRun)],
    [texts.message, linkTo("/messages", run.messageId, <code>{run.messageId}</code>)],
  ];
  return <Facts of={facts} />;
}

function Input({ value }: { value: unknown }) {
  return typeof value === "string" ? <UntrustedText text={value} /> : <Code value={value} label={texts.input} />;
}

/** Executions that this run called. */
function Children({ of }: { of: RunDetail["children"] }) {
  return (
    <details>
      <summary>{texts.children}</summary>
      <ul className={styles.children}>
        {of.map((child) => (
          <li key={child.id}>
            <Link href={`/executions/${child.id}`}>{texts.child(graphInWords(child.graph))}</Link>{" "}
            <Time at={child.createdAt} />
          </li>
        ))}
      </ul>
    </details>
  );
}

const graphInWords = (graph: string): string =>
  graph.startsWith("workflow:") ? texts.workflow : ((texts.graphs as Record<string, string>)[graph] ?? reveal(graph));

/** Rerun from the start or from a step, and open the new run. */
function useAgain(run: RunDetail): { again: (node?: string, newest?: boolean) => void; busy: boolean } {
  const [, navigate] = useLocation();
  const send = useSend("POST /api/runs/{run}/rerun", { done: texts.begun });
  const again = (node?: string, newest = false) =>
    send.mutate(
      { path: { run: run.id }, body: { ...(node === undefined ? {} : { node }), version: newest ? "newest" : "same" } },
      { onSuccess: (made) => navigate(addressOf(made.workflow.id, "runs", made.id)) },
    );
  return { again, busy: send.isPending };
}

/** Cancel a current run, or rerun an ended one. */
function RunActions({ run, newest }: { run: RunDetail; newest: boolean }) {
  const operates = useMay("operator");
  const ask = useAsk();
  const cancel = useSend("POST /api/runs/{run}/cancel", { done: texts.cancelled });
  const { again, busy } = useAgain(run);
  const end = async () => {
    const { askCancel: title, askCancelWords: words, cancel: yes } = texts;
    if (await ask({ title, words, yes, danger: true })) cancel.mutate({ path: { run: run.id } });
  };
  return (
    <>
      <ButtonLink label={texts.back} kind="quiet" href={addressOf(run.workflow.id, "runs")} icon={ArrowLeft} />
      {operates && isLive(run) && (
        <Button label={texts.cancel} kind="danger" icon={X} busy={cancel.isPending} onClick={() => void end()} />
      )}
      {operates && !isLive(run) && (
        <>
          {newest && <Button label={texts.newest} busy={busy} onClick={() => again(undefined, true)} />}
          <Button label={texts.again} kind="primary" icon={RotateCcw} busy={busy} onClick={() => again()} />
        </>
      )}
    </>
  );
}

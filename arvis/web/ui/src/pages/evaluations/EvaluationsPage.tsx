import { useState } from "react";
import { useApi, useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import type { Answer, Item } from "../../api/types";
import { AskButton, DeleteButton, sends } from "../../parts/actions";
import { Button } from "../../parts/button";
import { TextField, useDraft } from "../../parts/fields";
import { Form } from "../../parts/form";
import { Section } from "../../parts/page";
import { AgentField } from "../../parts/place";
import { NEW, type Opening, ResourcePage, ResourceSheet } from "../../parts/resource";
import { Facts, linkTo, Status, UntrustedText } from "../../parts/show";
import { Loaded } from "../../parts/states";
import { asPages, type Column } from "../../parts/table";
import { count } from "../../words/format";
import { Comparison } from "./Comparison";
import { EditCase } from "./EditCase";
import styles from "./evaluations.module.css";
import { StartForm } from "./StartForm";
import { texts } from "./texts";

type Suite = Answer<"GET /api/suites/{suite}">;

const COLUMNS: Column<Item<"GET /api/suites">>[] = [
  { name: texts.name, show: (row) => row.name },
  { name: texts.agent, show: (row) => row.agent },
  { name: texts.cases, width: "80px", show: (row) => count(row.cases) },
  { name: texts.last, show: (row) => row.last && <Outcome of={row.last} /> },
];

/** Suites of recorded turns, with which agents are evaluated. */
export default function EvaluationsPage() {
  const suites = useApi("GET /api/suites", {});
  return (
    <ResourcePage
      home="/evaluations"
      texts={texts}
      pages={asPages(suites)}
      columns={COLUMNS}
      idOf={(row) => row.name}
      mayAdd={useMay("operator")}
      sheet={(id, opening) => <SuiteSheet id={id} {...opening} />}
    />
  );
}

function SuiteSheet({ id, onOpen, onClose }: { id: string } & Opening) {
  return (
    <ResourceSheet
      id={id}
      of={useApi("GET /api/suites/{suite}", id === NEW ? null : { path: { suite: id } })}
      texts={texts}
      title={(suite) => suite.name}
      onClose={onClose}
      form={() => <NewSuite onSaved={onOpen} />}
      actions={(suite) => <Actions suite={suite} onRemoved={onClose} />}
    >
      {(suite) => <Details suite={suite} />}
    </ResourceSheet>
  );
}

function NewSuite({ onSaved }: { onSaved: (name: string) => void }) {
  const { draft, of } = useDraft({ name: "", agent: "" });
  const make = useSend("POST /api/suites", { quiet: true, done: texts.made });
  return (
    <Form onSend={() => make.mutate({ body: draft }, { onSuccess: (made) => onSaved(made.name) })} by={[make]}>
      <TextField label={texts.name} hint={texts.nameHint} required {...of("name")} />
      <AgentField label={texts.agent} hint={texts.agentHint} {...of("agent")} />
    </Form>
  );
}

function Actions({ suite, onRemoved }: { suite: Suite; onRemoved: () => void }) {
  const owns = useMay("owner");
  const operates = useMay("operator");
  const change = useSend("PATCH /api/suites/{suite}", { done: texts.changed });
  const remove = useSend("DELETE /api/suites/{suite}", { done: texts.removed });
  const path = { suite: suite.name };
  return (
    <>
      {owns && (suite.gate || suite.items.length > 0) && (
        <Button
          label={suite.gate ? texts.turnOff : texts.turnOn}
          {...sends(change, { path, body: { gate: !suite.gate } })}
        />
      )}
      {operates && (
        <DeleteButton words={texts.removeWhy(suite.name)} {...sends(remove, { path }, { onSuccess: onRemoved })} />
      )}
    </>
  );
}

function Details({ suite }: { suite: Suite }) {
  const operates = useMay("operator");
  const agent = useApi("GET /api/agents/{agent}", suite.agent === "" ? null : { path: { agent: suite.agent } });
  return (
    <>
      <Facts
        of={[
          [texts.agent, linkTo("/agents", suite.agent, suite.agent)],
          [texts.gate, suite.gate ? texts.gateOn : texts.gateOff],
          [texts.last, suite.last && <Outcome of={suite.last} />],
        ]}
      />
      {operates && suite.items.length > 0 && (
        <Section title={texts.start}>
          <Loaded of={agent}>{(known) => <StartForm suite={suite.name} agent={known} />}</Loaded>
        </Section>
      )}
      {suite.last && <Comparison suite={suite.name} />}
      <Section title={texts.cases}>
        {suite.items.length === 0 ? (
          <p className="muted">{texts.noCases(suite.name)}</p>
        ) : (
          <ul className={styles.cases}>
            {suite.items.map((one) => (
              <CaseRow key={one.name} suite={suite.name} one={one} />
            ))}
          </ul>
        )}
      </Section>
    </>
  );
}

function CaseRow({ suite, one }: { suite: string; one: Suite["items"][number] }) {
  const operates = useMay("operator");
  const [editing, setEditing] = useState(false);
  const remove = useSend("DELETE /api/suites/{suite}/cases/{case}", { done: texts.removedCase });
  return (
    <li className={styles.case}>
      <p className={styles.head}>
        <strong>{one.name}</strong>
        <UntrustedText text={one.question} />
      </p>
      <p className="muted">
        <UntrustedText text={one.expectations.join(" · ") || texts.nothingExpected} />
      </p>
      {editing && <EditCase suite={suite} name={one.name} onDone={() => setEditing(false)} />}
      {operates && !editing && (
        <p className={styles.head}>
          <Button kind="quiet" label={texts.editCase} onClick={() => setEditing(true)} />
          <AskButton
            kind="quiet"
            label={texts.removeCase}
            words={texts.removeCaseWhy(one.name)}
            {...sends(remove, { path: { suite, case: one.name } })}
          />
        </p>
      )}
    </li>
  );
}

/** The outcome of an evaluation in a few words. */
function Outcome({ of: one }: { of: NonNullable<Suite["last"]> }) {
  const tone = one.status === "running" ? "accent" : one.passes ? "good" : "trouble";
  const words = texts.passed(one.totals.passed, one.count);
  return <Status tone={tone}>{one.status === "done" ? words : `${texts.statuses[one.status]}, ${words}`}</Status>;
}

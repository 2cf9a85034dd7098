import { useState } from "react";
import { useApi, useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import type { Answer, Item } from "../../api/types";
import { AskButton, sends } from "../../parts/actions";
import { ChoiceField } from "../../parts/fields";
import { Section } from "../../parts/page";
import { Status, UntrustedText } from "../../parts/show";
import { Loaded } from "../../parts/states";
import { count, duration, exactly, money } from "../../words/format";
import styles from "./evaluations.module.css";
import { texts } from "./texts";

type Evaluation = Item<"GET /api/evaluations">;
type Pair = Answer<"GET /api/evaluations/{evaluation}/compare/{after}">["cases"][number];
type Result = NonNullable<Pair["after"]>;

/** The results of two evaluations of a suite side by side; without a choice, of the two newest ones. */
export function Comparison({ suite }: { suite: string }) {
  const found = useApi("GET /api/evaluations", { query: { suite } });
  return (
    <Section title={texts.compare}>
      <Loaded of={found}>{(page) => <Chosen evaluations={page.items} />}</Loaded>
    </Section>
  );
}

function Chosen({ evaluations }: { evaluations: Evaluation[] }) {
  const [before, setBefore] = useState("");
  const [after, setAfter] = useState("");
  const second = after || (evaluations[0]?.id ?? "");
  const first = before || (evaluations.find((one) => one.id !== second)?.id ?? second);
  const options = evaluations.map((one): [string, string] => [one.id, inWords(one)]);
  const chosen = evaluations.find((one) => one.id === second);
  return (
    <>
      <ChoiceField label={texts.before} value={first} options={options} onChange={setBefore} />
      <ChoiceField label={texts.after} value={second} options={options} onChange={setAfter} />
      {chosen && <Progress of={chosen} />}
      {second !== "" && <Sides before={first} after={second} />}
    </>
  );
}

/** The problem and the recall of an evaluation, and the button that cancels it. */
function Progress({ of: one }: { of: Evaluation }) {
  const operates = useMay("operator");
  const cancel = useSend("POST /api/executions/{execution}/cancel");
  const [five = 0, ten = 0] = one.totals.recall ?? [];
  return (
    <>
      {one.problem !== null && (
        <p>
          <UntrustedText text={one.problem} />
        </p>
      )}
      {one.totals.recall !== null && <p>{texts.recall(five.toFixed(2), ten.toFixed(2))}</p>}
      {one.status === "running" && operates && (
        <AskButton label={texts.cancel} words={texts.cancelWhy} {...sends(cancel, { path: { execution: one.id } })} />
      )}
    </>
  );
}

function Sides({ before, after }: { before: string; after: string }) {
  const compared = useApi("GET /api/evaluations/{evaluation}/compare/{after}", {
    path: { evaluation: before, after },
  });
  return (
    <Loaded of={compared}>
      {(found) => (
        <>
          {found.worse > 0 && <Status tone="trouble">{texts.worse(found.worse)}</Status>}
          <ul className={styles.cases} aria-label={texts.compare}>
            {found.cases.map((pair) => (
              <li key={pair.case} className={styles.case}>
                <strong>{pair.case}</strong>
                <div className={styles.sides}>
                  {before !== after && <Side name={texts.before} of={pair.before} />}
                  <Side name={texts.after} of={pair.after} />
                </div>
              </li>
            ))}
          </ul>
        </>
      )}
    </Loaded>
  );
}

function Side({ name, of: result }: { name: string; of: Result | null }) {
  if (result === null) {
    return (
      <section className={styles.side} aria-label={name}>
        <p className="muted">{texts.missing}</p>
      </section>
    );
  }
  const tokens = texts.tokens(count(result.inputTokens + result.outputTokens));
  return (
    <section className={styles.side} aria-label={name}>
      <p className={styles.head}>
        <span className="muted">{name}</span>
        <Status tone={result.passed ? "good" : "trouble"}>{result.passed ? texts.pass : texts.fail}</Status>
      </p>
      {result.problem !== null && (
        <p>
          <UntrustedText text={result.problem} />
        </p>
      )}
      <p className={styles.reply}>
        <UntrustedText text={result.reply || texts.noReply} />
      </p>
      {result.checks
        .filter((check) => !check.passed)
        .map((check) => (
          <p key={check.expectation}>
            <UntrustedText text={`${check.expectation}: ${check.reason}`} />
          </p>
        ))}
      <Lines name={texts.actions} of={result.actions} />
      <Lines name={texts.unrecorded} of={result.unrecorded} />
      <p className="muted">{[money(result.costUsd), tokens, duration(result.durationMs)].join(" · ")}</p>
    </section>
  );
}

function Lines({ name, of: lines }: { name: string; of: string[] }) {
  if (lines.length === 0) return null;
  return (
    <p className="muted">
      <UntrustedText text={`${name}: ${lines.join(", ")}`} />
    </p>
  );
}

function inWords(one: Evaluation): string {
  const fields = Object.keys(one.changes).join(", ");
  const passed = texts.passed(one.totals.passed, one.count);
  return [exactly(one.createdAt), passed, fields === "" ? texts.unchanged : texts.changes(fields)].join(" · ");
}

import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { Link } from "wouter";
import { ApiError, addressOf, base64 } from "../../api/client";
import { useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import type { Answer } from "../../api/types";
import { Button } from "../../parts/button";
import { Check } from "../../parts/field";
import { FileButton } from "../../parts/file";
import { FormButtons } from "../../parts/form";
import { Section } from "../../parts/page";
import { UntrustedText } from "../../parts/show";
import { Failure } from "../../parts/states";
import { texts as common } from "../../parts/texts";
import { bytes, count, reveal } from "../../words/format";
import styles from "./people.module.css";
import { texts } from "./texts";

const says = texts.imports;

type Report = Answer<"POST /api/import">;
type Action = Report["items"][number]["action"];

/** A chosen file. `archive` is its content in base64, so that the records that are imported are those that were shown. */
type Chosen = { name: string; archive: string };

/** The server's limit (`MOST_BYTES` of the archive); the server has the final decision. */
const MOST_BYTES = 64_000_000;
const TOO_LARGE = 413;
const UNUSABLE = 422;
const SHOWN = 100;

/** The export of the installation and the import of such a file, for owners. */
export function Import() {
  return useMay("owner") ? <ImportSection /> : null;
}

function ImportSection() {
  const client = useQueryClient();
  const [chosen, setChosen] = useState<Chosen | null>(null);
  const [replace, setReplace] = useState(false);
  const [unusable, setUnusable] = useState<ApiError | null>(null);
  const check = useSend("POST /api/import", { quiet: true });
  const run = useSend("POST /api/import", { quiet: true });
  const busy = check.isPending || run.isPending;

  const close = () => {
    setChosen(null);
    setReplace(false);
    setUnusable(null);
    check.reset();
    run.reset();
  };
  const rehearse = (file: Chosen, replacing: boolean) => {
    run.reset();
    check.mutate({ body: { archive: file.archive, dryRun: true, replace: replacing } });
  };
  const choose = async (file: File) => {
    close();
    if (file.size > MOST_BYTES) return setUnusable(tooLarge(file));
    try {
      const read = { name: file.name, archive: await base64(file) };
      setChosen(read);
      rehearse(read, false);
    } catch {
      setUnusable(new ApiError(0, "unreadable_file", says.unreadable(reveal(file.name)), says.unreadableFix));
    }
  };
  const start = () => {
    if (chosen === null) return;
    const body = { archive: chosen.archive, dryRun: false, replace };
    run.mutate({ body }, { onSettled: () => void client.invalidateQueries() });
  };
  const again = (act: () => void, error: ApiError) =>
    error.status === TOO_LARGE || error.status === UNUSABLE ? undefined : act;

  return (
    <Section title={says.title}>
      <p className="muted">{says.exportAbout}</p>
      <div className={styles.data}>
        <a className={styles.save} href={addressOf("GET /api/export", {})} download>
          {says.exportAll}
        </a>
      </div>
      <p className="muted">{says.about}</p>
      <div className={styles.data}>
        <FileButton label={says.choose} accept=".zip" busy={busy} onChoose={(file) => void choose(file)} />
      </div>
      {unusable && <Failure error={unusable} />}
      {chosen && check.error && (
        <Failure error={lost(check.error, false)} retry={again(() => rehearse(chosen, replace), check.error)} />
      )}
      {run.error && <Failure error={lost(run.error, true)} retry={again(start, run.error)} />}
      {busy && (
        <p role="status" className="muted">
          {run.isPending ? says.importing : says.checking}
        </p>
      )}
      {chosen && run.data && (
        <Shown report={run.data} file={chosen.name}>
          <FormButtons>
            <Button label={says.close} onClick={close} />
          </FormButtons>
        </Shown>
      )}
      {chosen && check.data && !run.data && (
        <Shown report={check.data} file={chosen.name}>
          <Check
            label={says.replace}
            hint={says.replaceHint}
            checked={replace}
            disabled={busy}
            onChange={(on) => {
              setReplace(on);
              rehearse(chosen, on);
            }}
          />
          <FormButtons>
            <Button
              label={says.start}
              kind="primary"
              busy={busy}
              disabled={changesOf(check.data) === 0}
              onClick={start}
            />
            <Button label={common.cancel} disabled={busy} onClick={close} />
          </FormButtons>
        </Shown>
      )}
    </Section>
  );
}

function tooLarge(file: File): ApiError {
  const words = says.tooLarge(reveal(file.name), bytes(file.size), bytes(MOST_BYTES));
  return new ApiError(TOO_LARGE, "too_large", words, says.tooLargeFix);
}

/** Explain a lost connection by the work that it interrupted. */
function lost(error: ApiError, importing: boolean): ApiError {
  if (error.status !== 0) return error;
  return importing
    ? new ApiError(0, error.code, says.lostImport, says.lostImportFix)
    : new ApiError(0, error.code, says.lostCheck, says.lostCheckFix);
}

const changesOf = ({ counts }: Report): number => (counts.create ?? 0) + (counts.update ?? 0);

type ShownProps = { report: Report; file: string; children: ReactNode };

/** The report of an import or of its rehearsal. It takes the focus, so that a screen reader reads it. */
function Shown({ report, file, children }: ShownProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  const planned = report.dryRun;
  const title = planned ? says.planned : says.done;
  const remarks = report.items.filter(({ action, why }) => action === "skip" || why !== "");
  return (
    <section className={styles.report} aria-label={title}>
      <h3 ref={heading} tabIndex={-1}>
        {title}
      </h3>
      <p>{(planned ? says.plannedWhy : says.doneWhy)(reveal(file), reveal(report.source))}</p>
      <Numbers report={report} />
      {planned && changesOf(report) === 0 && <p>{says.nothing}</p>}
      {remarks.length > 0 && (
        <details open={remarks.length <= 10}>
          <summary>
            {says.remarks} ({count(remarks.length)})
          </summary>
          <ul aria-label={says.remarks}>
            {remarks.slice(0, SHOWN).map(({ kind, name, why }, place) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: two records may have the same name, and the list never changes
              <li key={place}>
                <UntrustedText text={says.remark(kindOf(kind), name)} /> <UntrustedText text={why} className="muted" />
              </li>
            ))}
          </ul>
          {remarks.length > SHOWN && <p className="muted">{says.more(count(remarks.length - SHOWN))}</p>}
        </details>
      )}
      {report.asks.length > 0 && (
        <div>
          <p>{says.asks}</p>
          <ul aria-label={says.asks}>
            {report.asks.map((ask) => (
              <li key={ask}>
                <UntrustedText text={ask} />
              </li>
            ))}
          </ul>
          <p className={styles.data}>
            {Object.entries(says.askLinks).map(([path, words]) => (
              <Link key={path} href={path}>
                {words}
              </Link>
            ))}
          </p>
        </div>
      )}
      {children}
    </section>
  );
}

type Kind = keyof typeof says.kinds;

const PAGES: Record<Kind, string> = {
  people: "/settings/people",
  skills: "/skills",
  workflows: "/workflows",
  knowledge: "/knowledge",
  agents: "/agents",
  schedules: "/schedules",
  memory: "/memory",
  values: "/memory",
  conversations: "/conversations",
  overheard: "/conversations",
  evaluations: "/evaluations",
};
const KINDS = Object.keys(PAGES) as Kind[];
const ACTIONS = Object.keys(says.planColumns) as Action[];

const kindOf = (kind: string): string => says.kinds[kind as Kind] ?? kind;

/** The numbers of records by kind and action. After the import, each kind links to its page. */
function Numbers({ report }: { report: Report }) {
  const columns = report.dryRun ? says.planColumns : says.doneColumns;
  const present = KINDS.filter((kind) => report.items.some((item) => item.kind === kind));
  const numberOf = (kind: Kind, action: Action) =>
    report.items.filter((item) => item.kind === kind && item.action === action).length;
  return (
    <table aria-label={says.numbers}>
      <thead>
        <tr>
          <th scope="col">{says.kind}</th>
          {ACTIONS.map((action) => (
            <th key={action} scope="col">
              {columns[action]}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {present.map((kind) => (
          <tr key={kind}>
            <th scope="row">{report.dryRun ? kindOf(kind) : <Link href={PAGES[kind]}>{kindOf(kind)}</Link>}</th>
            {ACTIONS.map((action) => (
              <td key={action}>{count(numberOf(kind, action))}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

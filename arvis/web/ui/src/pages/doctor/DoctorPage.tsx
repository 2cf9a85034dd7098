import { useApi } from "../../api/hooks";
import type { Item } from "../../api/types";
import { Button } from "../../parts/button";
import { Chips, Page, Section, useFilter } from "../../parts/page";
import { Status, Time, type Tone } from "../../parts/show";
import { Loaded } from "../../parts/states";
import { reveal } from "../../words/format";
import styles from "./doctor.module.css";
import { texts } from "./texts";

type Finding = Item<"GET /api/doctor">;

const TONES: Record<Finding["status"], Tone> = { ok: "good", warn: "warn", fail: "trouble" };

const URGENCY: Record<Finding["status"], number> = { fail: 0, warn: 1, ok: 2 };

/** The same checks as `arvis doctor`, by group, problems first. */
export default function DoctorPage() {
  const [only, setOnly] = useFilter("only");
  const report = useApi("GET /api/doctor", { query: only === "security" ? { security: true } : {} });
  const again = (
    <Button label={texts.again} kind="primary" busy={report.isFetching} onClick={() => void report.refetch()} />
  );
  return (
    <Page
      title={texts.title}
      about={texts.about}
      actions={again}
      filters={
        <Chips
          label={texts.which}
          name="only"
          options={[
            ["trouble", texts.onlyTrouble],
            ["security", texts.onlySecurity],
          ]}
        />
      }
    >
      <Loaded of={report}>
        {({ items, at }) => {
          const all = only === "trouble" ? items.filter((finding) => finding.status !== "ok") : items;
          const shown = all.toSorted((one, other) => URGENCY[one.status] - URGENCY[other.status]);
          return (
            <>
              <p>
                <Sum items={items} /> <Time at={at} />
              </p>
              {shown.length === 0 && (
                <p className="muted">
                  {texts.fine} <Button label={texts.showAll} kind="quiet" onClick={() => setOnly("")} />
                </p>
              )}
              {[...new Set(shown.map((finding) => finding.group))].map((group) => (
                <Section key={group} title={group}>
                  <ul className={styles.list}>
                    {shown
                      .filter((finding) => finding.group === group)
                      .map((finding) => (
                        <Row key={finding.id} finding={finding} />
                      ))}
                  </ul>
                </Section>
              ))}
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}

function Sum({ items }: { items: readonly Finding[] }) {
  const number = (status: Finding["status"]) => items.filter((finding) => finding.status === status).length;
  return <strong>{texts.sum(items.length, number("fail"), number("warn"))}</strong>;
}

function Row({ finding }: { finding: Finding }) {
  return (
    <li>
      <Status tone={TONES[finding.status]}>{texts.statuses[finding.status]}</Status>
      <div>
        <p>{reveal(finding.what)}</p>
        {finding.why && <p className="muted">{reveal(finding.why)}</p>}
        {finding.fix && (
          <p>
            {texts.fix} {reveal(finding.fix)}
          </p>
        )}
      </div>
      <code className="muted">{finding.id}</code>
    </li>
  );
}

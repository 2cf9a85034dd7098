import { useState } from "react";
import { useApi, useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import { sends } from "../../parts/actions";
import { Button } from "../../parts/button";
import { Chips, Page, SearchField, Section, useFilters } from "../../parts/page";
import { Empty, Failure, Loaded } from "../../parts/states";
import { useUnsaved } from "../../parts/unsaved";
import styles from "./configuration.module.css";
import { Setting, type SettingEntry } from "./Setting";
import { texts } from "./texts";

/** Every setting with its value and source. Changes are collected and sent together. */
export default function ConfigurationPage() {
  const settings = useApi("GET /api/settings", {});
  const { q, show } = useFilters("q", "show");
  const owns = useMay("owner");
  const [changes, setChanges] = useState<Record<string, unknown>>({});
  const save = useSend("PATCH /api/settings", { quiet: true, done: texts.saved });
  const undo = useSend("POST /api/settings/undo", { done: texts.undone });
  const changed = Object.keys(changes).length;
  useUnsaved(changed > 0);
  const set = (key: string, value: unknown) =>
    setChanges((before) => {
      const { [key]: _, ...rest } = before;
      return value === undefined ? rest : { ...rest, [key]: value };
    });
  const send = () => save.mutate({ body: { changes } }, { onSuccess: () => setChanges({}) });
  return (
    <Page
      title={texts.title}
      about={texts.about}
      actions={
        owns && (
          <>
            <Button label={texts.undo} {...sends(undo, {})} />
            <Button
              label={texts.save(changed)}
              kind="primary"
              disabled={changed === 0}
              busy={save.isPending}
              onClick={send}
            />
          </>
        )
      }
      filters={
        <>
          <SearchField label={texts.search} />
          <Chips
            label={texts.show}
            name="show"
            options={[
              ["set", texts.onlySet],
              ["here", texts.onlyHere],
            ]}
          />
        </>
      }
    >
      {save.error && <Failure error={save.error} />}
      <Loaded of={settings}>
        {(found) => {
          const rows = found.items.filter((row) => fits(row, q, show));
          const sections = [...new Set(rows.map(sectionOf))].sort(
            (one, other) => Number(other === "") - Number(one === ""),
          );
          return (
            <>
              {found.needsRestart.length > 0 && (
                <p className={styles.restart} role="status">
                  {texts.needsRestart(found.needsRestart.join(", "))}
                </p>
              )}
              {found.problem && <p className={styles.restart}>{found.problem}</p>}
              <p className="muted">{texts.file(found.file)}</p>
              {rows.length === 0 && <Empty title={texts.nothing} />}
              {sections.map((section) => (
                <Section key={section} title={section || texts.general}>
                  <div className={styles.list}>
                    {rows
                      .filter((row) => sectionOf(row) === section)
                      .map((row) => (
                        <Setting
                          key={`${row.key} ${JSON.stringify(row.value)}`}
                          row={row}
                          change={changes[row.key]}
                          disabled={!owns}
                          onChange={(value) => set(row.key, value)}
                        />
                      ))}
                  </div>
                </Section>
              ))}
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}

/** Settings without a section form one group. */
function sectionOf(row: SettingEntry): string {
  return row.section === row.key ? "" : row.section;
}

function fits(row: SettingEntry, q: string, show: string): boolean {
  if (show === "set" && row.source === "default") return false;
  if (show === "here" && !row.changeable) return false;
  return `${row.key} ${row.description}`.toLowerCase().includes(q.toLowerCase());
}

import { Undo2 } from "lucide-react";
import { useApi, useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import { sends } from "../../parts/actions";
import { Button } from "../../parts/button";
import { ChangedLines, Time, UntrustedText } from "../../parts/show";
import { Empty, Loaded } from "../../parts/states";
import { texts as common } from "../../parts/texts";
import { count } from "../../words/format";
import { Person } from "../memory/people";
import styles from "./agents.module.css";
import { type Difference, differences } from "./diff";
import type { Agent, Version } from "./draft";
import { texts } from "./texts";

const CONFIGURATION = "configuration";

/** The versions of an agent, newest first, each with its changes. */
export function History({ agent }: { agent: Agent }) {
  const path = { agent: agent.slug };
  const versions = useApi("GET /api/agents/{agent}/versions", { path });
  const undo = useSend("POST /api/agents/{agent}/undo", { done: common.undone });
  const owns = useMay("owner");
  return (
    <Loaded of={versions}>
      {({ items }) =>
        items.length === 0 ? (
          <Empty why={texts.noHistoryWhy} title={texts.noHistory} />
        ) : (
          <>
            {owns && items.length > 1 && (
              <div>
                <Button label={texts.undoNewest} icon={Undo2} {...sends(undo, { path })} />
              </div>
            )}
            <ol className={styles.versions}>
              {items.map((version, index) => (
                <One key={version.version} version={version} before={items[index + 1]} />
              ))}
            </ol>
          </>
        )
      }
    </Loaded>
  );
}

function One({ version, before }: { version: Version; before: Version | undefined }) {
  const changed = before === undefined ? [] : differences(before.agent, version.agent);
  return (
    <li>
      <header>
        <h2>{texts.version(count(version.version))}</h2>
        {version.by === CONFIGURATION ? <UntrustedText text={texts.byConfiguration} /> : <Person id={version.by} />}
        <Time at={version.at} />
      </header>
      {before === undefined && <p className="muted">{texts.first}</p>}
      {before !== undefined && changed.length === 0 && <p className="muted">{texts.sameAsBefore}</p>}
      {changed.length > 0 && <Changes of={changed} />}
    </li>
  );
}

/** The differences, field by field: removed lines with a minus, added lines with a plus. */
export function Changes({ of }: { of: readonly Difference[] }) {
  return (
    <dl className={styles.changes}>
      {of.map((one) => (
        <div key={one.field}>
          <dt>{texts.fields[one.field]}</dt>
          <dd>
            <ChangesOne difference={one} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function ChangesOne({ difference }: { difference: Difference }) {
  if (difference.kind === "value")
    return (
      <>
        <del>
          <UntrustedText text={difference.before} />
        </del>
        {" → "}
        <ins>
          <UntrustedText text={difference.after} />
        </ins>
      </>
    );
  if (difference.kind === "list")
    return (
      <ul className={styles.entries}>
        {difference.moved && <li>{texts.otherOrder}</li>}
        {difference.gone.map((entry) => (
          <li key={`-${entry}`}>
            <del>
              − <UntrustedText text={entry} />
            </del>
          </li>
        ))}
        {difference.come.map((entry) => (
          <li key={`+${entry}`}>
            <ins>
              + <UntrustedText text={entry} />
            </ins>
          </li>
        ))}
      </ul>
    );
  return <ChangedLines lines={difference.lines} label={texts.changeOf(texts.fields[difference.field])} />;
}

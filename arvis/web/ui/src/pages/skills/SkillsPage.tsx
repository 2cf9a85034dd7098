import { useState } from "react";
import { base64 } from "../../api/client";
import { useApi, useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import { Button } from "../../parts/button";
import { ChoiceField, TextArea, TextField } from "../../parts/fields";
import { FileButton } from "../../parts/file";
import { Form, FormButtons } from "../../parts/form";
import { Chips, SearchField, Sheet, useFilters } from "../../parts/page";
import { NEW, ResourcePage } from "../../parts/resource";
import { Status, UntrustedText } from "../../parts/show";
import { Empty, Failure } from "../../parts/states";
import { asPages, type Column } from "../../parts/table";
import { count, reveal } from "../../words/format";
import { type Skill, SkillFacts, SkillSheet, SkillSwitch } from "./SkillSheet";
import styles from "./skills.module.css";
import { texts } from "./texts";

const SOURCES = Object.entries(texts.sources) as [Skill["source"], string][];

/** Instructions that Arvis adds to an agent's prompt if they fit a message. */
export default function SkillsPage() {
  const owns = useMay("owner");
  const skills = useApi("GET /api/skills", {});
  const { source, q } = useFilters("source", "q");
  const shown = (skills.data?.items ?? []).filter((skill) => matches(skill, source, q));
  return (
    <ResourcePage
      home="/skills"
      texts={texts}
      pages={asPages(skills, shown)}
      columns={columns(owns)}
      idOf={(skill) => skill.slug}
      mayAdd={owns}
      filters={
        <>
          <Chips label={texts.source} name="source" options={SOURCES} />
          <SearchField label={texts.search} />
        </>
      }
      filtered={Boolean(source || q)}
      sheet={(id, { onOpen, onClose }) =>
        id === NEW ? <ImportSkill onClose={onClose} onMade={onOpen} /> : <SkillSheet slug={id} onClose={onClose} />
      }
    >
      <Problems of={skills.data?.problems ?? []} />
    </ResourcePage>
  );
}

function matches(skill: Skill, source: string, q: string): boolean {
  const text = `${skill.slug} ${skill.name} ${skill.description} ${skill.category}`.toLowerCase();
  return (source === "" || skill.source === source) && text.includes(q.toLowerCase());
}

function columns(mayChange: boolean): Column<Skill>[] {
  return [
    {
      name: texts.name,
      width: "minmax(140px, 3fr)",
      show: (skill) => (
        <span className={styles.named}>
          <UntrustedText text={skill.name} />
          <UntrustedText text={skill.description} className="muted" />
        </span>
      ),
    },
    { name: texts.source, width: "140px", show: (skill) => texts.sources[skill.source] },
    {
      name: texts.tools,
      width: "minmax(100px, 1fr)",
      show: (skill) => skill.requiredTools.join(", ") || texts.noTools,
    },
    {
      name: texts.warnings,
      width: "110px",
      show: ({ warnings: { length } }) =>
        length > 0 ? (
          <Status tone="warn">{texts.warned(length, count(length))}</Status>
        ) : (
          <span className="muted">{texts.noTools}</span>
        ),
    },
    {
      name: texts.state,
      width: "110px",
      show: (skill) =>
        !skill.trusted ? (
          <Status tone="warn">{skill.changed ? texts.changed : texts.untrusted}</Status>
        ) : mayChange ? (
          <SkillSwitch skill={skill} />
        ) : (
          <Status tone={skill.enabled ? "good" : "plain"}>{skill.enabled ? texts.on : texts.off}</Status>
        ),
    },
  ];
}

function Problems({ of }: { of: readonly string[] }) {
  if (of.length === 0) return null;
  return (
    <section className={styles.doubt} aria-label={texts.problems}>
      <h2>{texts.problems}</h2>
      <ul>
        {of.map((problem) => (
          <li key={problem}>{reveal(problem)}</li>
        ))}
      </ul>
    </section>
  );
}

type Way = "text" | "file" | "url" | "git";
const WAYS = Object.entries(texts.ways) as [Way, string][];

/** Import a skill: the server reads it and shows it with its warnings and remarks; it is used only after the import. */
function ImportSkill({ onClose, onMade }: { onClose: () => void; onMade: (slug: string) => void }) {
  const owns = useMay("owner");
  const [way, setWay] = useState<Way>("text");
  const [text, setText] = useState("");
  const [url, setUrl] = useState("");
  const [file, setFile] = useState<{ name: string; archive: string } | null>(null);
  const [directory, setDirectory] = useState("");
  const look = useSend("POST /api/skills/test", { quiet: true });
  const make = useSend("POST /api/skills", { quiet: true, done: texts.imported });
  const found = look.data;
  const sources = {
    text: { text },
    file: { archive: file?.archive },
    url: { url: url.trim() },
    git: { git: url.trim() },
  };
  const inside = way === "text" || directory.trim() === "" ? {} : { directory: directory.trim() };
  const given = { ...sources[way], ...inside };
  const send = () => {
    if (found === undefined) return;
    // The content must still be the one that was previewed.
    const seen = way === "text" ? {} : { expectedHash: found.skill.hash };
    const body = { ...given, ...seen, replace: found.replaces !== null };
    make.mutate({ body }, { onSuccess: (made) => onMade(made.slug) });
  };
  const back = () => {
    look.reset();
    make.reset();
  };
  return (
    <Sheet title={texts.add} onClose={onClose}>
      {!owns && <Empty title={texts.ownersOnly} />}
      {owns && found === undefined && (
        <Form
          label={texts.add}
          onSend={() => look.mutate({ body: given })}
          by={[look]}
          save={texts.look}
          disabled={way === "file" && file === null}
        >
          <ChoiceField label={texts.how} value={way} onChange={setWay} options={WAYS} />
          {way === "file" && (
            <>
              <FileButton
                label={texts.chooseFile}
                accept=".zip,.tar,.gz,.tgz,.bz2,.xz"
                onChoose={(chosen) => void base64(chosen).then((archive) => setFile({ name: chosen.name, archive }))}
              />
              <p className="muted">{file === null ? texts.fileHint : reveal(file.name)}</p>
            </>
          )}
          {way === "text" ? (
            <TextArea
              label={texts.text}
              hint={texts.textHint}
              required
              rows={16}
              spellCheck={false}
              value={text}
              onChange={setText}
            />
          ) : (
            <>
              {way !== "file" && (
                <TextField
                  label={texts.url}
                  hint={way === "git" ? texts.gitHint : texts.urlHint}
                  type="url"
                  required
                  value={url}
                  onChange={setUrl}
                />
              )}
              <TextField label={texts.directory} hint={texts.directoryHint} value={directory} onChange={setDirectory} />
            </>
          )}
          <p className="muted">{texts.lookWhy}</p>
        </Form>
      )}
      {owns && found !== undefined && (
        <>
          <h3>{texts.looked}</h3>
          <p className="muted">{texts.lookedWhy}</p>
          {found.replaces !== null && <p className={styles.doubt}>{texts.replaces(texts.sources[found.replaces])}</p>}
          {found.skill.warnings.length === 0 && <p className="muted">{texts.noWarnings}</p>}
          <SkillFacts skill={found.skill} preview />
          {make.error && <Failure error={make.error} />}
          <FormButtons>
            <Button label={texts.importIt} kind="primary" busy={make.isPending} onClick={send} />
            <Button label={texts.back} onClick={back} />
          </FormButtons>
        </>
      )}
    </Sheet>
  );
}

import { useApi } from "../../api/hooks";
import { useMay } from "../../api/session";
import { Chips, SearchField, useFilters } from "../../parts/page";
import { NEW, ResourcePage } from "../../parts/resource";
import { Status, UntrustedText } from "../../parts/show";
import { asPages, type Column } from "../../parts/table";
import { count, reveal } from "../../words/format";
import { ImportSkill } from "./ImportSkill";
import { type Skill, SkillSheet, SkillSwitch } from "./SkillSheet";
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
        mayChange ? (
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

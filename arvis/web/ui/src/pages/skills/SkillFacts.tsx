import type { Answer } from "../../api/types";
import { Markdown } from "../../parts/markdown";
import { Code, Facts, UntrustedText } from "../../parts/show";
import { reveal } from "../../words/format";
import styles from "./skills.module.css";
import { texts } from "./texts";

export type SkillDetail = Answer<"GET /api/skills/{slug}">;

/** The content of a skill, its conditions of use, and the parts that were ignored. */
export function SkillFacts({ skill }: { skill: SkillDetail }) {
  return (
    <>
      {skill.warnings.length > 0 && (
        <section className={styles.doubt} aria-label={texts.warnings}>
          <h3>{texts.warnings}</h3>
          <ul>
            {skill.warnings.map((warning) => (
              <li key={warning}>{reveal(warning)}</li>
            ))}
          </ul>
        </section>
      )}
      <Facts
        of={[
          [texts.description, shown(skill.description)],
          [texts.slug, <bdi key="slug">{skill.slug}</bdi>],
          [texts.source, texts.sources[skill.source]],
          [texts.category, shown(skill.category)],
          [texts.author, shown(skill.author)],
          [texts.version, shown(skill.version)],
          [texts.tools, shown(skill.requiredTools.join(", ") || texts.noTools)],
          [texts.keywords, shown(skill.keywords.join(", "))],
          [texts.patterns, skill.patterns.length === 0 ? null : <Patterns key="patterns" of={skill.patterns} />],
        ]}
      />
      <h3>{texts.body}</h3>
      <div className={styles.body}>
        <Markdown text={skill.body} />
      </div>
      <details>
        <summary>{texts.raw}</summary>
        <Code value={skill.text} label={texts.raw} />
      </details>
    </>
  );
}

const shown = (text: string) => (text === "" ? null : <UntrustedText text={text} />);

function Patterns({ of }: { of: readonly string[] }) {
  return (
    <ul>
      {of.map((pattern) => (
        <li key={pattern}>
          <code>{reveal(pattern)}</code>
        </li>
      ))}
    </ul>
  );
}

import { useSend } from "../../api/hooks";
import type { Answer } from "../../api/types";
import { reveal } from "../../words/format";
import styles from "./skills.module.css";
import { texts } from "./texts";

export type Skill = Answer<"GET /api/skills">["items"][number];

/** Enable or disable a skill. */
export function SkillSwitch({ skill }: { skill: Pick<Skill, "slug" | "name" | "enabled"> }) {
  const change = useSend("PATCH /api/skills/{slug}");
  // Until the list is reloaded, the user's choice counts.
  const shown = change.isPending ? (change.variables.body?.enabled ?? skill.enabled) : skill.enabled;
  return (
    <label className={styles.switch}>
      <input
        type="checkbox"
        checked={shown}
        onChange={(event) => change.mutate({ path: { slug: skill.slug }, body: { enabled: event.target.checked } })}
      />
      <span aria-hidden>{shown ? texts.on : texts.off}</span>
      <span className="hidden">{`${texts.use}: ${reveal(skill.name)}`}</span>
    </label>
  );
}

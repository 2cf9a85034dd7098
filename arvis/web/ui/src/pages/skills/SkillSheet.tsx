import { Pencil, Trash2, Undo2 } from "lucide-react";
import { useState } from "react";
import { useApi, useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import type { Answer } from "../../api/types";
import { AskButton, sends } from "../../parts/actions";
import { Button } from "../../parts/button";
import { TextArea } from "../../parts/fields";
import { Form } from "../../parts/form";
import { Markdown } from "../../parts/markdown";
import { ResourceSheet } from "../../parts/resource";
import { Code, Facts, Status, UntrustedText } from "../../parts/show";
import { texts as common } from "../../parts/texts";
import { useToast } from "../../parts/toast";
import { bytes, reveal } from "../../words/format";
import styles from "./skills.module.css";
import { texts } from "./texts";

/** One skill: content and conditions of use; it can be disabled, edited, reset and removed here. */
export function SkillSheet({ slug, onClose }: { slug: string; onClose: () => void }) {
  const owns = useMay("owner");
  const state = (skill: SkillDetail) =>
    owns ? (
      <SkillSwitch skill={skill} />
    ) : (
      <Status tone={skill.enabled ? "good" : "plain"}>{skill.enabled ? texts.on : texts.off}</Status>
    );
  return (
    <ResourceSheet
      of={useApi("GET /api/skills/{slug}", { path: { slug } })}
      texts={texts}
      title={(skill) => reveal(skill.name)}
      onClose={onClose}
      actions={(skill, edit) => owns && <Actions skill={skill} onEdit={edit} onGone={onClose} />}
      form={(skill, close) =>
        skill && (
          <>
            {state(skill)}
            <Edit skill={skill} onDone={close} />
          </>
        )
      }
    >
      {(skill) => (
        <>
          {skill.trusted ? state(skill) : <Trust skill={skill} owns={owns} />}
          <SkillFacts skill={skill} />
        </>
      )}
    </ResourceSheet>
  );
}

/** An imported skill that is not used yet, with the button that trusts the content that this page shows. */
function Trust({ skill, owns }: { skill: SkillDetail; owns: boolean }) {
  const trust = useSend("POST /api/skills/{slug}/trust", { done: texts.trusted });
  const request = { path: { slug: skill.slug }, body: { hash: skill.hash } };
  return (
    <section className={styles.doubt} aria-label={texts.untrusted}>
      <p>{skill.changed ? texts.changedWhy : texts.untrustedWhy}</p>
      {owns && (
        <AskButton
          kind="primary"
          danger={false}
          label={texts.trust}
          words={texts.trustWhy(reveal(skill.name))}
          {...sends(trust, request)}
        />
      )}
    </section>
  );
}

function Edit({ skill, onDone }: { skill: SkillDetail; onDone: () => void }) {
  const [text, setText] = useState(skill.text);
  const save = useSend("PATCH /api/skills/{slug}", { quiet: true, done: common.saved });
  const send = () => save.mutate({ path: { slug: skill.slug }, body: { text } }, { onSuccess: onDone });
  return (
    <Form label={common.edit} onSend={send} by={[save]} disabled={text === skill.text} onCancel={onDone}>
      {skill.source !== "imported" && <p className="muted">{texts.editOther}</p>}
      <TextArea label={texts.text} hint={texts.editHint} rows={20} spellCheck={false} value={text} onChange={setText} />
    </Form>
  );
}

function Actions({ skill, onEdit, onGone }: { skill: SkillDetail; onEdit: () => void; onGone: () => void }) {
  const { tell } = useToast();
  const path = { slug: skill.slug };
  const undo = useSend("POST /api/skills/{slug}/undo");
  const remove = useSend("DELETE /api/skills/{slug}");
  const back = () =>
    undo.mutate(
      { path },
      {
        onSuccess: ({ skill: found }) => {
          tell(common.undone);
          if (found === null) onGone();
        },
      },
    );
  const gone = () => {
    tell(texts.removed, { words: common.undo, act: back });
    onGone();
  };
  return (
    <>
      <Button label={common.edit} icon={Pencil} onClick={onEdit} />
      {skill.source === "imported" && (
        <>
          <Button label={texts.undoText} icon={Undo2} busy={undo.isPending} onClick={back} />
          <AskButton
            kind="danger"
            icon={Trash2}
            label={common.delete}
            words={texts.removeWhy(reveal(skill.name))}
            {...sends(remove, { path }, { onSuccess: gone })}
          />
        </>
      )}
    </>
  );
}

type SkillDetail = Answer<"GET /api/skills/{slug}">;

/** The places of an imported skill that its scan found. */
function Remarks({ of }: { of: SkillDetail["remarks"] }) {
  if (of.length === 0) return null;
  return (
    <section className={styles.doubt} aria-label={texts.remarks}>
      <h3>{texts.remarks}</h3>
      <p className="muted">{texts.remarksWhy}</p>
      <ul>
        {of.map((remark) => (
          <li key={`${remark.path}:${remark.line}:${remark.text}`}>
            <bdi>{reveal(remark.line === 0 ? remark.path : `${remark.path}:${remark.line}`)}</bdi> {remark.text}
            {remark.excerpt && (
              <>
                {": "}
                <code>{reveal(remark.excerpt)}</code>
              </>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The files of a stored skill; each is loaded when it is opened. */
function Files({ skill }: { skill: SkillDetail }) {
  const [open, setOpen] = useState("");
  const shown = useApi(
    "GET /api/skills/{slug}/file",
    open ? { path: { slug: skill.slug }, query: { path: open } } : null,
  );
  return (
    <>
      <h3>{texts.files}</h3>
      <ul>
        {skill.files.map((file) => (
          <li key={file.path}>
            <Button label={reveal(file.path)} onClick={() => setOpen(open === file.path ? "" : file.path)} />{" "}
            <span className="muted">{bytes(file.size)}</span>
            {open === file.path && shown.data && (
              <Code value={shown.data.text ?? texts.binary} label={reveal(file.path)} />
            )}
          </li>
        ))}
      </ul>
    </>
  );
}

/** The content of a skill, its conditions of use, and the parts that were ignored. `preview`: it is not stored yet. */
export function SkillFacts({ skill, preview = false }: { skill: SkillDetail; preview?: boolean }) {
  return (
    <>
      <Remarks of={skill.remarks} />
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
          [texts.license, shown(skill.license)],
          [texts.compatibility, shown(skill.compatibility)],
          [texts.origin, shown(skill.origin)],
          [texts.hash, <bdi key="hash">{skill.hash}</bdi>],
          [texts.tools, shown(skill.requiredTools.join(", ") || texts.noTools)],
          [texts.keywords, shown(skill.keywords.join(", "))],
          [texts.patterns, skill.patterns.length === 0 ? null : <Patterns key="patterns" of={skill.patterns} />],
        ]}
      />
      {skill.files.length > 0 && preview && (
        <>
          <h3>{texts.files}</h3>
          <ul>
            {skill.files.map((file) => (
              <li key={file.path}>
                <UntrustedText text={file.path} /> <span className="muted">{bytes(file.size)}</span>
              </li>
            ))}
          </ul>
        </>
      )}
      {skill.files.length > 0 && !preview && <Files skill={skill} />}
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

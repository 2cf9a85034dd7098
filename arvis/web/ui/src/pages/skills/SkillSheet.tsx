import { Pencil, Trash2, Undo2 } from "lucide-react";
import { useState } from "react";
import { useApi, useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import { AskButton } from "../../parts/askButton";
import { Button } from "../../parts/button";
import { TextArea } from "../../parts/fields";
import { Form } from "../../parts/form";
import { ResourceSheet } from "../../parts/resource";
import { Status } from "../../parts/show";
import { texts as common } from "../../parts/texts";
import { useToast } from "../../parts/toast";
import { reveal } from "../../words/format";
import { type SkillDetail, SkillFacts } from "./SkillFacts";
import { SkillSwitch } from "./SkillSwitch";
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
          {state(skill)}
          <SkillFacts skill={skill} />
        </>
      )}
    </ResourceSheet>
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
            busy={remove.isPending}
            label={common.remove}
            words={texts.removeWhy(reveal(skill.name))}
            onYes={() => remove.mutate({ path }, { onSuccess: gone })}
          />
        </>
      )}
    </>
  );
}

import { Pencil, Trash2, Undo2 } from "lucide-react";
import { useState } from "react";
import { useApi, useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import { Button } from "../../parts/button";
import { useAsk } from "../../parts/dialog";
import { Field } from "../../parts/field";
import { Form, FormButtons } from "../../parts/form";
import { Sheet } from "../../parts/page";
import { Status } from "../../parts/show";
import { Empty, Failure, Loaded } from "../../parts/states";
import { texts as common } from "../../parts/texts";
import { useToast } from "../../parts/toast";
import { reveal } from "../../words/format";
import { type SkillDetail, SkillFacts } from "./SkillFacts";
import { SkillSwitch } from "./SkillSwitch";
import { texts } from "./texts";

const NOT_FOUND = 404;

/** One skill: content and conditions of use; it can be disabled, edited, reset and removed here. */
export function SkillSheet({ slug, onClose }: { slug: string; onClose: () => void }) {
  const skill = useApi("GET /api/skills/{slug}", { path: { slug } });
  const [editing, setEditing] = useState(false);
  const owns = useMay("owner");
  return (
    <Sheet
      title={skill.data === undefined ? slug : reveal(skill.data.name)}
      onClose={onClose}
      actions={skill.data && owns && <Actions skill={skill.data} onEdit={() => setEditing(true)} onGone={onClose} />}
    >
      {skill.error?.status === NOT_FOUND ? (
        <Empty title={texts.gone}>{texts.goneWhy}</Empty>
      ) : (
        <Loaded of={skill}>
          {(known) => (
            <>
              {owns ? (
                <SkillSwitch skill={known} />
              ) : (
                <Status tone={known.enabled ? "good" : "plain"}>{known.enabled ? texts.on : texts.off}</Status>
              )}
              {editing ? <Edit skill={known} onDone={() => setEditing(false)} /> : <SkillFacts skill={known} />}
            </>
          )}
        </Loaded>
      )}
    </Sheet>
  );
}

function Edit({ skill, onDone }: { skill: SkillDetail; onDone: () => void }) {
  const [text, setText] = useState(skill.text);
  const save = useSend("PATCH /api/skills/{slug}", { quiet: true, done: texts.saved });
  const send = () => save.mutate({ path: { slug: skill.slug }, body: { text } }, { onSuccess: onDone });
  return (
    <Form label={texts.edit} onSend={send}>
      {skill.source !== "imported" && <p className="muted">{texts.editOther}</p>}
      <Field label={texts.text} hint={texts.editHint}>
        <textarea value={text} rows={20} spellCheck={false} onChange={(event) => setText(event.target.value)} />
      </Field>
      {save.error && <Failure error={save.error} />}
      <FormButtons>
        <Button type="submit" kind="primary" busy={save.isPending} disabled={text === skill.text}>
          {texts.save}
        </Button>
        <Button onClick={onDone}>{common.cancel}</Button>
      </FormButtons>
    </Form>
  );
}

function Actions({ skill, onEdit, onGone }: { skill: SkillDetail; onEdit: () => void; onGone: () => void }) {
  const ask = useAsk();
  const { tell } = useToast();
  const path = { slug: skill.slug };
  const undo = useSend("POST /api/skills/{slug}/undo");
  const remove = useSend("DELETE /api/skills/{slug}");
  const back = () =>
    undo.mutate(
      { path },
      {
        onSuccess: ({ skill: found }) => {
          tell(texts.undone);
          if (found === null) onGone();
        },
      },
    );
  const drop = async () => {
    const words = texts.removeWhy(reveal(skill.name));
    if (!(await ask({ title: texts.remove, words, yes: texts.remove, danger: true }))) return;
    const gone = () => {
      tell(texts.removed, { words: texts.undo, act: back });
      onGone();
    };
    remove.mutate({ path }, { onSuccess: gone });
  };
  return (
    <>
      <Button icon={<Pencil aria-hidden />} onClick={onEdit}>
        {texts.edit}
      </Button>
      {skill.source === "imported" && (
        <>
          <Button icon={<Undo2 aria-hidden />} busy={undo.isPending} onClick={back}>
            {texts.undoText}
          </Button>
          <Button kind="danger" icon={<Trash2 aria-hidden />} busy={remove.isPending} onClick={() => void drop()}>
            {texts.remove}
          </Button>
        </>
      )}
    </>
  );
}

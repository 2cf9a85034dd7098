import { useState } from "react";
import { useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import { Button } from "../../parts/button";
import { ChoiceField, TextArea, TextField } from "../../parts/fields";
import { Form, FormButtons } from "../../parts/form";
import { Sheet } from "../../parts/page";
import { Empty, Failure } from "../../parts/states";
import { SkillFacts } from "./SkillSheet";
import styles from "./skills.module.css";
import { texts } from "./texts";

type Way = "text" | "url";

/** Import a skill: the server reads it and shows it with its warnings; it is used only after the import. */
export function ImportSkill({ onClose, onMade }: { onClose: () => void; onMade: (slug: string) => void }) {
  const owns = useMay("owner");
  const [way, setWay] = useState<Way>("text");
  const [text, setText] = useState("");
  const [url, setUrl] = useState("");
  const look = useSend("POST /api/skills/test", { quiet: true });
  const make = useSend("POST /api/skills", { quiet: true, done: texts.imported });
  const found = look.data;
  const given = way === "text" ? { text } : { url: url.trim() };
  const send = () => {
    if (found === undefined) return;
    // The file at the address must still be the one that was previewed.
    const seen = way === "url" ? { expectedHash: found.skill.hash } : {};
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
        <Form label={texts.add} onSend={() => look.mutate({ body: given })} by={[look]} save={texts.look}>
          <ChoiceField
            label={texts.how}
            value={way}
            onChange={setWay}
            options={[
              ["text", texts.byText],
              ["url", texts.byUrl],
            ]}
          />
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
            <TextField label={texts.url} hint={texts.urlHint} type="url" required value={url} onChange={setUrl} />
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
          <SkillFacts skill={found.skill} />
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

import { ArrowLeft, Plus } from "lucide-react";
import { useState } from "react";
import { useLocation } from "wouter";
import { useApi, useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import type { Item } from "../../api/types";
import { Button, ButtonLink } from "../../parts/button";
import { Field } from "../../parts/field";
import { TextArea, TextField } from "../../parts/fields";
import { Form, FormButtons } from "../../parts/form";
import { Page } from "../../parts/page";
import { UntrustedText } from "../../parts/show";
import { Empty, Failure, Loaded } from "../../parts/states";
import { reveal } from "../../words/format";
import { MOST_BYTES } from "../../workflow/kinds";
import { Problems } from "./Overview";
import { Preview } from "./Preview";
import { texts } from "./texts";
import { addressOf, documentOf, HOME, problemsOf } from "./workflow";
import styles from "./workflows.module.css";

type Example = Item<"GET /api/workflows/examples">;

/** Example workflows, each with its picture. */
export function Gallery() {
  const examples = useApi("GET /api/workflows/examples", {});
  const says = texts.gallery;
  return (
    <Page title={says.title} about={says.about} actions={<Back />}>
      <Loaded of={examples}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title={says.none} action={<Blank />} />
          ) : (
            <ul className={styles.cards}>
              <li className={styles.card}>
                <h2>{says.blank}</h2>
                <p className="muted">{says.blankWhy}</p>
                <Blank />
              </li>
              {items.map((one) => (
                <Card key={one.slug} of={one} />
              ))}
            </ul>
          )
        }
      </Loaded>
    </Page>
  );
}

export function Back() {
  return <ButtonLink label={texts.all} kind="quiet" href={HOME} icon={ArrowLeft} />;
}

function Blank() {
  const operates = useMay("operator");
  if (!operates) return null;
  return (
    <div>
      <ButtonLink label={texts.add} kind="primary" href={`${HOME}/new`} icon={Plus} />
    </div>
  );
}

function Card({ of: one }: { of: Example }) {
  const [, navigate] = useLocation();
  const operates = useMay("operator");
  const make = useSend("POST /api/workflows", { done: texts.gallery.taken });
  const { name, description, document: drawn } = one;
  const take = () =>
    make.mutate(
      { body: { name, description, document: drawn, enabled: false } },
      { onSuccess: (made) => navigate(addressOf(made.id)) },
    );
  return (
    <li className={styles.card}>
      <div className={styles.picture}>
        <Preview document={documentOf(one)} label={texts.drawingOf(reveal(name))} />
      </div>
      <h2>
        <UntrustedText text={name} />
      </h2>
      <p className="muted">
        <UntrustedText text={description} />
      </p>
      <p className="muted">{texts.nodes(documentOf(one).nodes.length)}</p>
      {operates && (
        <div>
          <Button
            label={texts.gallery.take}
            busy={make.isPending}
            aria-label={texts.gallery.takeOf(reveal(name))}
            onClick={take}
          />
        </div>
      )}
    </li>
  );
}

const REFUSED = 422;

/** Create a workflow from a file or pasted text. */
export function ImportPage() {
  const [, navigate] = useLocation();
  const [text, setText] = useState("");
  const [name, setName] = useState("");
  const [tooLarge, setTooLarge] = useState(false);
  const bring = useSend("POST /api/workflows/import", { quiet: true, done: texts.importing.done });
  const says = texts.importing;
  const send = (draft: boolean) =>
    bring.mutate(
      { body: { text, draft, enabled: false, ...(name.trim() === "" ? {} : { name: name.trim() }) } },
      { onSuccess: (made) => navigate(addressOf(made.id)) },
    );
  const take = async (file: File | undefined) => {
    if (file === undefined) return;
    setTooLarge(file.size > MOST_BYTES);
    if (file.size <= MOST_BYTES) setText(await file.text());
  };
  const problems = problemsOf(bring.error);
  return (
    <Page title={says.title} about={says.about} actions={<Back />}>
      <div className={styles.narrow}>
        <Form onSend={() => send(false)} label={says.title}>
          {bring.error && problems.length === 0 && <Failure error={bring.error} />}
          {problems.length > 0 && <Problems of={problems} />}
          {bring.error?.status === REFUSED && problems.length > 0 && (
            <div className={styles.anyway}>
              <p className="muted">{says.anywayWhy}</p>
              <Button label={says.anyway} busy={bring.isPending} onClick={() => send(true)} />
            </div>
          )}
          <Field label={says.file} hint={says.fileHint} error={tooLarge ? says.tooLarge : null}>
            <input
              type="file"
              accept=".json,.yaml,.yml,application/json,application/yaml"
              onChange={(event) => void take(event.target.files?.[0])}
            />
          </Field>
          <TextArea
            label={says.text}
            rows={14}
            required
            spellCheck={false}
            className={styles.source}
            value={text}
            onChange={setText}
          />
          <TextField label={says.name} hint={says.nameHint} value={name} onChange={setName} />
          <FormButtons>
            <Button
              label={says.check}
              type="submit"
              kind="primary"
              busy={bring.isPending}
              disabled={text.trim() === ""}
            />
          </FormButtons>
        </Form>
      </div>
    </Page>
  );
}

import { useState } from "react";
import { base64 } from "../../api/client";
import { useList, useSend } from "../../api/hooks";
import type { Item } from "../../api/types";
import { DeleteButton, sends } from "../../parts/actions";
import { Button } from "../../parts/button";
import { ChoiceField, TextField, useDraft } from "../../parts/fields";
import { FileButton } from "../../parts/file";
import { Form, FormButtons } from "../../parts/form";
import { Section } from "../../parts/page";
import { Facts, Status, Time, type Tone, UntrustedText } from "../../parts/show";
import { Empty, Failure, Skeleton } from "../../parts/states";
import { texts as common } from "../../parts/texts";
import { useToast } from "../../parts/toast";
import { bytes, count, reveal } from "../../words/format";
import styles from "./knowledge.module.css";
import { texts } from "./texts";

type Document = Item<"GET /api/knowledge/{slug}/documents">;

const FILES = ".pdf,.docx,.html,.htm,.md,.markdown,.txt,.rst,.org,.adoc,.csv,.tsv,.json,.yaml,.yml,.xml";
const TONES: Record<Document["status"], Tone> = {
  pending: "accent",
  indexed: "good",
  failed: "trouble",
  removed: "plain",
};
const REFRESHES = Object.entries(texts.refreshes);

/** The documents of a knowledge base, newest first, with the ways to add some. */
export function Documents({ slug, mayChange }: { slug: string; mayChange: boolean }) {
  const pages = useList("GET /api/knowledge/{slug}/documents", {}, { slug });
  const { more } = pages;
  return (
    <Section title={texts.documents} actions={mayChange && <RefreshAll slug={slug} />}>
      {mayChange && <AddDocuments slug={slug} />}
      {pages.error !== null && <Failure error={pages.error} retry={pages.retry} />}
      {pages.loading && <Skeleton />}
      {!pages.loading && pages.rows.length === 0 && <Empty title={texts.noDocuments} why={texts.noDocumentsWhy} />}
      <ul className={styles.documents}>
        {pages.rows.map((document) => (
          <li key={document.id}>
            <Entry slug={slug} document={document} mayChange={mayChange} />
          </li>
        ))}
      </ul>
      {more !== null && <Button label={common.more} onClick={more} />}
    </Section>
  );
}

function RefreshAll({ slug }: { slug: string }) {
  const { tell } = useToast();
  const refresh = useSend("POST /api/knowledge/{slug}/refresh");
  const done = { onSuccess: (found: { documents: number }) => tell(texts.refreshed(count(found.documents))) };
  return <Button label={texts.refreshAll} {...sends(refresh, { path: { slug } }, done)} />;
}

/** Buttons for files, and the form for a web page. */
function AddDocuments({ slug }: { slug: string }) {
  const [form, setForm] = useState(false);
  const [left, setLeft] = useState(0);
  const add = useSend("POST /api/knowledge/{slug}/documents", { done: texts.added });
  const { tell } = useToast();
  const send = async (file: File) => {
    setLeft((before) => before + 1);
    const settled = () => setLeft((before) => before - 1);
    try {
      const body = { name: file.name, file: await base64(file) };
      add.mutate({ path: { slug }, body }, { onSettled: settled });
    } catch {
      settled();
      tell(texts.unreadable(file.name));
    }
  };
  return (
    <>
      <FormButtons>
        <FileButton label={texts.upload} accept={FILES} multiple busy={left > 0} onChoose={(file) => void send(file)} />
        <Button label={texts.addPage} onClick={() => setForm(true)} />
      </FormButtons>
      <p className="muted">{left > 0 ? texts.uploading(count(left)) : texts.uploadHint}</p>
      {form && <PageForm slug={slug} onClose={() => setForm(false)} />}
    </>
  );
}

function PageForm({ slug, onClose }: { slug: string; onClose: () => void }) {
  const { draft, of } = useDraft({ url: "", refresh: "86400000" });
  const add = useSend("POST /api/knowledge/{slug}/documents", { quiet: true, done: texts.added });
  const refresh = draft.refresh === "" ? {} : { refresh: Number(draft.refresh) };
  const send = () =>
    add.mutate({ path: { slug }, body: { url: draft.url.trim(), ...refresh } }, { onSuccess: onClose });
  return (
    <Form label={texts.addPage} save={texts.addPage} onSend={send} by={[add]} onCancel={onClose}>
      <TextField label={texts.url} hint={texts.urlHint} type="url" required {...of("url")} />
      <ChoiceField label={texts.refresh} options={REFRESHES} {...of("refresh")} />
    </Form>
  );
}

function Entry({ slug, document, mayChange }: { slug: string; document: Document; mayChange: boolean }) {
  const path = { slug, document: document.id };
  const again = useSend("POST /api/knowledge/{slug}/documents/{document}/refresh");
  const remove = useSend("DELETE /api/knowledge/{slug}/documents/{document}", { done: texts.removed });
  const name = document.title || document.location;
  return (
    <details>
      <summary>
        <UntrustedText text={name} />
        <Status tone={TONES[document.status]}>{texts.statuses[document.status]}</Status>
      </summary>
      {document.problem !== "" && <p className={styles.problem}>{reveal(document.problem)}</p>}
      <Facts
        of={[
          [texts.source, document.location],
          [texts.size, bytes(document.size)],
          [texts.parts, count(document.parts)],
          [texts.indexedAt, document.indexedAt !== null && <Time key="indexed" at={document.indexedAt} />],
          [texts.nextAt, document.nextAt !== null && <Time key="next" at={document.nextAt} />],
        ]}
      />
      {mayChange && (
        <FormButtons>
          <Button label={texts.again} {...sends(again, { path })} />
          {document.kind !== "folder" && (
            <DeleteButton words={texts.removeDocument(name)} {...sends(remove, { path })} />
          )}
        </FormButtons>
      )}
    </details>
  );
}

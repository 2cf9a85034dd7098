import { useApi, useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import type { Item } from "../../api/types";
import { DeleteButton, sends } from "../../parts/actions";
import { Button } from "../../parts/button";
import { ChoiceField, TextArea, TextField, useDraft } from "../../parts/fields";
import { Form } from "../../parts/form";
import { NEW, type Opening, ResourcePage, ResourceSheet } from "../../parts/resource";
import { Facts, Status, Time, UntrustedText } from "../../parts/show";
import { asPages, type Column } from "../../parts/table";
import { texts as common } from "../../parts/texts";
import { count } from "../../words/format";
import { Documents } from "./Documents";
import { SearchTrial } from "./SearchTrial";
import { texts } from "./texts";

type Base = Item<"GET /api/knowledge">;

const TRUSTS = Object.entries(texts.trusts) as ["no" | "yes", string][];

const COLUMNS: Column<Base>[] = [
  { name: texts.name, width: "minmax(140px, 2fr)", show: (row) => <UntrustedText text={row.name} /> },
  { name: texts.documents, width: "110px", show: (row) => count(row.indexed + row.pending + row.failed) },
  { name: texts.status, width: "140px", show: (row) => <State of={row} /> },
  { name: texts.agents, wide: true, show: (row) => row.agents.join(", ") || texts.noAgents },
  { name: texts.changed, width: "140px", wide: true, show: (row) => <Time at={row.updatedAt} /> },
];

/** Collections of documents that agents search. */
export default function KnowledgePage() {
  const bases = useApi("GET /api/knowledge", {});
  return (
    <ResourcePage
      home="/knowledge"
      texts={texts}
      pages={asPages(bases)}
      columns={COLUMNS}
      idOf={(row) => row.slug}
      mayAdd={useMay("operator")}
      sheet={(id, opening) => <BaseSheet slug={id} {...opening} />}
    />
  );
}

function State({ of }: { of: Base }) {
  if (of.failed > 0) return <Status tone="trouble">{`${texts.failed}: ${count(of.failed)}`}</Status>;
  if (of.pending > 0) return <Status tone="accent">{`${texts.pending}: ${count(of.pending)}`}</Status>;
  return <Status tone={of.indexed > 0 ? "good" : "plain"}>{`${texts.indexed}: ${count(of.indexed)}`}</Status>;
}

function BaseSheet({ slug, onOpen, onClose }: { slug: string } & Opening) {
  const operates = useMay("operator");
  return (
    <ResourceSheet
      id={slug}
      of={useApi("GET /api/knowledge/{slug}", slug === NEW ? null : { path: { slug } })}
      texts={texts}
      title={(base) => <UntrustedText text={base.name} />}
      onClose={onClose}
      form={(known, close) => (
        <BaseForm known={known} onSaved={known === undefined ? onOpen : close} onRemoved={onClose} />
      )}
      actions={(_, edit) => operates && <Button label={common.edit} onClick={edit} />}
    >
      {(base) => (
        <>
          <About base={base} />
          <Documents slug={base.slug} mayChange={operates} />
          <SearchTrial slug={base.slug} />
        </>
      )}
    </ResourceSheet>
  );
}

function About({ base }: { base: Base }) {
  return (
    <Facts
      of={[
        [texts.slug, base.slug],
        [texts.description, base.description],
        [texts.trust, texts.trusts[base.trusted ? "yes" : "no"]],
        [texts.indexed, count(base.indexed)],
        [texts.pending, base.pending > 0 && count(base.pending)],
        [texts.failed, base.failed > 0 && count(base.failed)],
        [texts.parts, count(base.parts)],
        [texts.agents, base.agents.join(", ") || texts.noAgents],
      ]}
    />
  );
}

type Props = { known?: Base; onSaved: (slug: string) => void; onRemoved: () => void };

function BaseForm({ known, onSaved, onRemoved }: Props) {
  const owns = useMay("owner");
  const { draft, of } = useDraft({
    slug: known?.slug ?? "",
    name: known?.name ?? "",
    description: known?.description ?? "",
    trusted: (known?.trusted ? "yes" : "no") as "no" | "yes",
  });
  const make = useSend("POST /api/knowledge", { quiet: true, done: texts.created });
  const change = useSend("PATCH /api/knowledge/{slug}", { quiet: true, done: common.saved });
  const remove = useSend("DELETE /api/knowledge/{slug}", { done: texts.removed });
  const { slug, name, description } = draft;
  const trusted = draft.trusted === "yes";
  const send = () => {
    if (known === undefined) {
      const body = { slug: slug.trim(), name: name.trim() || slug.trim(), description, trusted };
      make.mutate({ body }, { onSuccess: (made) => onSaved(made.slug) });
    } else {
      const path = { slug: known.slug };
      change.mutate({ path, body: { name, description, trusted } }, { onSuccess: () => onSaved(known.slug) });
    }
  };
  return (
    <Form
      onSend={send}
      by={[make, change]}
      buttons={
        known && (
          <DeleteButton
            words={texts.removeWhy(known.name)}
            {...sends(remove, { path: { slug: known.slug } }, { onSuccess: onRemoved })}
          />
        )
      }
    >
      {known === undefined && <TextField label={texts.slug} hint={texts.slugHint} required {...of("slug")} />}
      <TextField label={texts.name} maxLength={100} required={known !== undefined} {...of("name")} />
      <TextArea
        label={texts.description}
        hint={texts.descriptionHint}
        rows={3}
        maxLength={500}
        {...of("description")}
      />
      <ChoiceField label={texts.trust} hint={texts.trustHint} options={TRUSTS} disabled={!owns} {...of("trusted")} />
    </Form>
  );
}

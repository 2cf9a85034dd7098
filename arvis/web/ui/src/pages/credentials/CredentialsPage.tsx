import { useApi, useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import type { Answer, Item } from "../../api/types";
import { DeleteButton, sends } from "../../parts/actions";
import { TextArea, TextField, useDraft } from "../../parts/fields";
import { Form } from "../../parts/form";
import { FormSheet, NEW, type Opening, ResourcePage } from "../../parts/resource";
import { Time, UntrustedText } from "../../parts/show";
import { asPages, type Column } from "../../parts/table";
import { texts as common } from "../../parts/texts";
import { texts } from "./texts";

const COLUMNS: Column<Item<"GET /api/credentials">>[] = [
  { name: texts.name, show: (row) => row.name },
  { name: texts.hosts, width: "2fr", show: (row) => <UntrustedText text={row.hosts.join(", ")} /> },
  { name: texts.agents, show: (row) => row.agents.join(", ") || texts.none },
  { name: texts.changed, width: "160px", show: (row) => <Time at={row.updatedAt} /> },
];

/** Secrets that Arvis inserts into requests of agents. */
export default function CredentialsPage() {
  const credentials = useApi("GET /api/credentials", {});
  return (
    <ResourcePage
      home="/settings/credentials"
      texts={texts}
      pages={asPages(credentials, credentials.data?.items ?? [])}
      columns={COLUMNS}
      idOf={(row) => row.name}
      mayAdd={useMay("owner")}
      sheet={(id, opening) => <CredentialSheet id={id} {...opening} />}
    />
  );
}

function CredentialSheet({ id, onOpen, onClose }: { id: string } & Opening) {
  return (
    <FormSheet
      id={id}
      of={useApi("GET /api/credentials/{name}", id === NEW ? null : { path: { name: id } })}
      texts={texts}
      onClose={onClose}
      form={(known) => <Edit known={known} onSaved={onOpen} onRemoved={onClose} />}
    />
  );
}

type Props = { known?: Answer<"GET /api/credentials/{name}">; onSaved: (name: string) => void; onRemoved: () => void };

function Edit({ known, onSaved, onRemoved }: Props) {
  const owns = useMay("owner");
  const { draft, of } = useDraft({
    name: known?.name ?? "",
    variable: known?.variable ?? "",
    hosts: known?.hosts.join("\n") ?? "",
    header: known?.header ?? "Authorization",
    template: known?.template ?? "Bearer {value}",
  });
  const save = useSend("PUT /api/credentials/{name}", { quiet: true, done: common.saved });
  const remove = useSend("DELETE /api/credentials/{name}", { done: texts.removed });
  const { name, ...fields } = draft;
  const body = { ...fields, hosts: fields.hosts.split(/\s+/u).filter(Boolean) };
  return (
    <Form
      onSend={() => save.mutate({ path: { name }, body }, { onSuccess: () => onSaved(name) })}
      by={owns ? [save] : undefined}
      buttons={
        known && (
          <DeleteButton
            words={texts.removeWhy(name)}
            {...sends(remove, { path: { name } }, { onSuccess: onRemoved })}
          />
        )
      }
    >
      {known === undefined && <TextField label={texts.name} hint={texts.nameHint} required {...of("name")} />}
      <TextField label={texts.variable} hint={texts.variableHint} required disabled={!owns} {...of("variable")} />
      <TextArea label={texts.hosts} hint={texts.hostsHint} rows={3} required disabled={!owns} {...of("hosts")} />
      <TextField label={texts.header} required disabled={!owns} {...of("header")} />
      <TextField label={texts.template} hint={texts.templateHint} required disabled={!owns} {...of("template")} />
      {known && <p className="muted">{texts.usedBy(known.agents.join(", "))}</p>}
    </Form>
  );
}

import { useApi, useList, useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import type { Answer, Item } from "../../api/types";
import { DeleteButton, sends } from "../../parts/actions";
import { Check } from "../../parts/field";
import { TextArea, TextField, useDraft } from "../../parts/fields";
import { Form } from "../../parts/form";
import { FormSheet, NEW, type Opening, ResourcePage } from "../../parts/resource";
import { Status, Time, UntrustedText } from "../../parts/show";
import type { Column } from "../../parts/table";
import { texts as common } from "../../parts/texts";
import { texts } from "./texts";

const COLUMNS: Column<Item<"GET /api/variables">>[] = [
  { name: texts.key, show: (row) => row.key },
  {
    name: texts.value,
    width: "2fr",
    show: (row) => (row.secret ? <Status tone="plain">{texts.sealed}</Status> : <UntrustedText text={row.value} />),
  },
  { name: texts.changed, width: "160px", show: (row) => <Time at={row.updatedAt} /> },
];

/** Values that agents can read. */
export default function VariablesPage() {
  return (
    <ResourcePage
      home="/settings/variables"
      texts={texts}
      pages={useList("GET /api/variables", {})}
      columns={COLUMNS}
      idOf={(row) => row.key}
      mayAdd={useMay("owner")}
      sheet={(id, opening) => <VariableSheet id={id} {...opening} />}
    />
  );
}

function VariableSheet({ id, onOpen, onClose }: { id: string } & Opening) {
  return (
    <FormSheet
      id={id}
      of={useApi("GET /api/variables/{key}", id === NEW ? null : { path: { key: id } })}
      texts={texts}
      onClose={onClose}
      form={(known) => <Edit known={known} onSaved={onOpen} onRemoved={onClose} />}
    />
  );
}

type Props = { known?: Answer<"GET /api/variables/{key}">; onSaved: (key: string) => void; onRemoved: () => void };

function Edit({ known, onSaved, onRemoved }: Props) {
  const owns = useMay("owner");
  const sealed = known?.secret ?? false;
  const { draft, set, of } = useDraft({
    key: known?.key ?? "",
    value: sealed ? "" : (known?.value ?? ""),
    secret: sealed,
  });
  const save = useSend("PUT /api/variables/{key}", { quiet: true, done: common.saved });
  const remove = useSend("DELETE /api/variables/{key}", { done: texts.removed });
  const { key, ...body } = draft;
  return (
    <Form
      onSend={() => save.mutate({ path: { key }, body }, { onSuccess: () => onSaved(key) })}
      by={owns ? [save] : undefined}
      buttons={
        known && (
          <DeleteButton words={texts.removeWhy(key)} {...sends(remove, { path: { key } }, { onSuccess: onRemoved })} />
        )
      }
    >
      {known === undefined && <TextField label={texts.key} hint={texts.keyHint} required {...of("key")} />}
      <TextArea
        label={texts.value}
        hint={sealed ? texts.sealedHint : undefined}
        required
        disabled={!owns}
        {...of("value")}
      />
      <Check
        label={texts.secret}
        hint={texts.secretHint}
        checked={draft.secret}
        disabled={!owns}
        onChange={(secret) => set({ secret })}
      />
    </Form>
  );
}

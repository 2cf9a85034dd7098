import { Plus } from "lucide-react";
import { useState } from "react";
import { useLocation, useRoute } from "wouter";
import { useApi, useList, useSend } from "../../api/hooks";
import { useMay } from "../../api/session";
import { Button } from "../../parts/button";
import { useAsk } from "../../parts/dialog";
import { Check, Field } from "../../parts/field";
import { Form, FormButtons } from "../../parts/form";
import { Page, Sheet } from "../../parts/page";
import { Status, Time, UntrustedText } from "../../parts/show";
import { Empty, Failure, Loaded } from "../../parts/states";
import { Table } from "../../parts/table";
import { texts } from "./texts";

const HOME = "/settings/variables";
const NEW = "new";

export default function VariablesPage() {
  const [, navigate] = useLocation();
  const [, match] = useRoute("/settings/variables/:key");
  const owns = useMay("owner");
  const pages = useList("GET /api/variables", {});
  const open = match ? decodeURIComponent(match.key) : null;
  const add = owns && (
    <Button kind="primary" icon={<Plus aria-hidden />} onClick={() => navigate(`${HOME}/${NEW}`)}>
      {texts.add}
    </Button>
  );
  return (
    <Page title={texts.title} about={texts.about} actions={add} sheet={open && <Detail key={open} name={open} />}>
      <Table
        label={texts.title}
        pages={pages}
        idOf={(row) => row.key}
        openId={open}
        onOpen={(row) => navigate(`${HOME}/${encodeURIComponent(row.key)}`)}
        columns={[
          { name: texts.key, show: (row) => <UntrustedText text={row.key} /> },
          {
            name: texts.value,
            width: "2fr",
            show: (row) =>
              row.secret ? <Status tone="plain">{texts.sealed}</Status> : <UntrustedText text={row.value} />,
          },
          { name: texts.changed, width: "160px", show: (row) => <Time at={row.updatedAt} /> },
        ]}
        empty={
          <Empty title={texts.empty} action={add}>
            {texts.emptyWhy}
          </Empty>
        }
      />
    </Page>
  );
}

function Detail({ name }: { name: string }) {
  const [, navigate] = useLocation();
  const isNew = name === NEW;
  const variable = useApi("GET /api/variables/{key}", isNew ? null : { path: { key: name } });
  return (
    <Sheet title={isNew ? texts.add : name} onClose={() => navigate(HOME)}>
      {isNew ? (
        <Edit />
      ) : (
        <Loaded of={variable}>{(found) => <Edit known={found.key} value={found.value} secret={found.secret} />}</Loaded>
      )}
    </Sheet>
  );
}

function Edit({
  known,
  value: before = "",
  secret: sealed = false,
}: {
  known?: string;
  value?: string;
  secret?: boolean;
}) {
  const [, navigate] = useLocation();
  const ask = useAsk();
  const owns = useMay("owner");
  const [key, setKey] = useState(known ?? "");
  const [value, setValue] = useState(sealed ? "" : before);
  const [secret, setSecret] = useState(sealed);
  const save = useSend("PUT /api/variables/{key}", { quiet: true, done: texts.saved });
  const remove = useSend("DELETE /api/variables/{key}", { done: texts.removed });
  const send = () =>
    save.mutate(
      { path: { key }, body: { value, secret } },
      { onSuccess: () => navigate(`${HOME}/${encodeURIComponent(key)}`) },
    );
  const drop = async () => {
    if (await ask({ title: texts.remove, words: texts.removeWhy(key), yes: texts.remove, danger: true })) {
      remove.mutate({ path: { key } }, { onSuccess: () => navigate(HOME) });
    }
  };
  return (
    <Form onSend={send}>
      {save.error && <Failure error={save.error} />}
      {known === undefined && (
        <Field label={texts.key} hint={texts.keyHint}>
          <input value={key} required autoComplete="off" onChange={(event) => setKey(event.target.value)} />
        </Field>
      )}
      <Field label={texts.value} hint={sealed ? texts.sealedHint : undefined}>
        <textarea value={value} required disabled={!owns} onChange={(event) => setValue(event.target.value)} />
      </Field>
      <Check label={texts.secret} hint={texts.secretHint} checked={secret} disabled={!owns} onChange={setSecret} />
      {owns && (
        <FormButtons>
          <Button type="submit" kind="primary" busy={save.isPending}>
            {texts.save}
          </Button>
          {known !== undefined && (
            <Button kind="danger" busy={remove.isPending} onClick={() => void drop()}>
              {texts.remove}
            </Button>
          )}
        </FormButtons>
      )}
    </Form>
  );
}

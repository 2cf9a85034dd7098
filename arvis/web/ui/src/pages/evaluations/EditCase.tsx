import { useState } from "react";
import { useApi, useSend } from "../../api/hooks";
import { TextArea } from "../../parts/fields";
import { Form } from "../../parts/form";
import { Loaded } from "../../parts/states";
import { jsonOf, objectOf } from "../../words/json";
import { texts } from "./texts";

type Props = { suite: string; name: string; onDone: () => void };

/** Edit the document of a case: its inputs, the outputs of its tool calls, and its expectations. */
export function EditCase({ suite, name, onDone }: Props) {
  const found = useApi("GET /api/suites/{suite}/cases/{case}", { path: { suite, case: name } });
  return (
    <Loaded of={found}>
      {(known) => (
        <DocumentForm suite={suite} name={name} document={JSON.stringify(known.document, null, 2)} onDone={onDone} />
      )}
    </Loaded>
  );
}

function DocumentForm({ suite, name, document, onDone }: Props & { document: string }) {
  const [written, setWritten] = useState(document);
  const [wrong, setWrong] = useState<string | null>(null);
  const save = useSend("POST /api/suites/{suite}/cases", { quiet: true, done: texts.changed });
  const send = () => {
    const parsed = objectOf(jsonOf(written));
    setWrong(parsed === null ? texts.notJson : null);
    if (parsed !== null) {
      const body = { document: parsed, replace: parsed.name === name };
      save.mutate({ path: { suite }, body }, { onSuccess: onDone });
    }
  };
  return (
    <Form label={texts.editCase} by={[save]} onSend={send} onCancel={onDone} dirty={written !== document}>
      <TextArea
        label={texts.document}
        hint={texts.documentHint}
        error={wrong}
        rows={16}
        spellCheck={false}
        value={written}
        onChange={setWritten}
      />
    </Form>
  );
}

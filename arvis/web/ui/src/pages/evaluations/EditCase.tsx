import { useState } from "react";
import { useApi, useSend } from "../../api/hooks";
import { TextArea } from "../../parts/fields";
import { Form } from "../../parts/form";
import { Loaded } from "../../parts/states";
import { texts } from "./texts";

type Props = { suite: string; name: string; onDone: () => void };

/** Edit the document of a case: its inputs, the outputs of its tool calls, and its expectations. */
export function EditCase({ suite, name, onDone }: Props) {
  const found = useApi("GET /api/suites/{suite}/cases/{case}", { path: { suite, case: name } });
  return (
    <Loaded of={found}>
      {(known) => <DocumentForm suite={suite} document={JSON.stringify(known.document, null, 2)} onDone={onDone} />}
    </Loaded>
  );
}

function DocumentForm({ suite, document, onDone }: { suite: string; document: string; onDone: () => void }) {
  const [written, setWritten] = useState(document);
  const [wrong, setWrong] = useState<string | null>(null);
  const save = useSend("POST /api/suites/{suite}/cases", { quiet: true, done: texts.changed });
  const send = () => {
    const parsed = parse(written);
    setWrong(parsed === null ? texts.notJson : null);
    if (parsed !== null) {
      save.mutate({ path: { suite }, body: { document: parsed, replace: true } }, { onSuccess: onDone });
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

/** The JSON object in a text; null if it has none. */
function parse(text: string): Record<string, unknown> | null {
  try {
    const found: unknown = JSON.parse(text);
    return typeof found === "object" && found !== null && !Array.isArray(found)
      ? (found as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

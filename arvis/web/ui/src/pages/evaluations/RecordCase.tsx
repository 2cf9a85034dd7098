import { useApi, useSend } from "../../api/hooks";
import { ButtonLink } from "../../parts/button";
import { ChoiceField, TextField, useDraft } from "../../parts/fields";
import { Form } from "../../parts/form";
import { Loaded } from "../../parts/states";
import { texts } from "./texts";

type Props = { message: string; agent: string; onDone: () => void };

/** Record an answered message as a case of a suite of its agent. */
export function RecordCase({ message, agent, onDone }: Props) {
  const suites = useApi("GET /api/suites", {});
  return (
    <Loaded of={suites}>
      {(found) => {
        const names = found.items.filter((suite) => suite.agent === agent).map((suite) => suite.name);
        if (names[0] === undefined) {
          return (
            <p>
              {texts.noSuite(agent)} <ButtonLink label={texts.add} href="/evaluations/new" />
            </p>
          );
        }
        return <RecordForm message={message} suites={names} first={names[0]} onDone={onDone} />;
      }}
    </Loaded>
  );
}

type FormProps = { message: string; suites: string[]; first: string; onDone: () => void };

function RecordForm({ message, suites, first, onDone }: FormProps) {
  const { draft, of } = useDraft({ suite: first, name: "", contains: "" });
  const record = useSend("POST /api/suites/{suite}/record", { quiet: true, done: texts.recorded });
  const expect = draft.contains === "" ? [] : [{ contains: draft.contains }];
  const body = { message, expect, ...(draft.name === "" ? {} : { name: draft.name }) };
  return (
    <Form
      label={texts.record}
      save={texts.record}
      by={[record]}
      onSend={() => record.mutate({ path: { suite: draft.suite }, body }, { onSuccess: onDone })}
      onCancel={onDone}
    >
      <ChoiceField label={texts.suite} options={suites.map((name) => [name, name])} {...of("suite")} />
      <TextField label={texts.name} hint={texts.caseNameHint} {...of("name")} />
      <TextField label={texts.contains} hint={texts.containsHint} {...of("contains")} />
    </Form>
  );
}

import { useEffect, useRef, useState } from "react";
import { Dialog } from "../../../parts/dialog";
import { ChoiceField } from "../../../parts/fields";
import { Form } from "../../../parts/form";
import { reveal } from "../../../words/format";
import { nameOf } from "../../../workflow/canvas/look";
import { handlesOf } from "../../../workflow/node";
import type { WorkflowConnection, WorkflowDocument, WorkflowNode } from "../../../workflow/types";
import { texts } from "./texts";
import { targetsFor } from "./Ways";

type Props = {
  document: WorkflowDocument;
  node: WorkflowNode;
  onConnect: (connection: Omit<WorkflowConnection, "id">, target: string) => void;
  onClose: () => void;
};

/** Connect a step by two choices: an output and a target. Connections that do not exist yet are offered first. */
export function ConnectDialog({ document, node, onConnect, onClose }: Props) {
  const { sources } = handlesOf(node);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // The browser would focus the dialog's close button.
    const frame = requestAnimationFrame(() => box.current?.querySelector("select")?.focus());
    return () => cancelAnimationFrame(frame);
  }, []);
  const used = new Set(document.connections.filter(({ source }) => source === node.id).map((one) => one.sourceHandle));
  const [way, setWay] = useState((sources.find(({ id }) => !used.has(id)) ?? sources[0])?.id ?? "");
  const [chosen, setChosen] = useState("");
  const handle = sources.find(({ id }) => id === way);
  const targets = handle === undefined ? [] : targetsFor(document, node, handle);
  const entered = new Set(document.connections.map(({ target }) => target));
  const proposed = targets.find(([, , one]) => !entered.has(one.target)) ?? targets[0];
  const target = targets.find(([key]) => key === chosen) ?? proposed;
  return (
    <Dialog title={texts.connect.title(reveal(nameOf(node)))} onClose={onClose}>
      <div ref={box}>
        {sources.length === 0 ? (
          <p className="muted">{texts.connect.none}</p>
        ) : (
          <Form
            onSend={() => target && onConnect(target[2], target[1])}
            by={[]}
            save={texts.connect.yes}
            disabled={target === undefined}
          >
            {sources.length > 1 && (
              <ChoiceField
                label={texts.connect.way}
                value={way}
                options={sources.map((one) => [one.id, reveal(one.name)] as const)}
                onChange={setWay}
              />
            )}
            {target === undefined ? (
              <p className="muted">{texts.connect.none}</p>
            ) : (
              <ChoiceField
                label={texts.connect.target}
                value={target[0]}
                options={targets.map(([key, words]) => [key, words] as const)}
                onChange={setChosen}
              />
            )}
          </Form>
        )}
      </div>
    </Dialog>
  );
}

import { X } from "lucide-react";
import { IconButton } from "../../../parts/button";
import { Choice } from "../../../parts/field";
import { reveal } from "../../../words/format";
import { nameOf } from "../../../workflow/canvas/look";
import { LOOP_BACK } from "../../../workflow/kinds";
import { type Handle, handlesOf } from "../../../workflow/node";
import type { WorkflowConnection, WorkflowDocument, WorkflowNode } from "../../../workflow/types";
import { mayConnect } from "./changes";
import type { Action } from "./editing";
import styles from "./panel.module.css";
import { texts } from "./texts";

type Props = {
  document: WorkflowDocument;
  node: WorkflowNode;
  dispatch: (action: Action) => void;
  disabled: boolean;
  onShow: (id: string) => void;
};

/** The targets of a step, by output: the connections as a form. */
export function Ways(props: Props) {
  const { document, node, onShow } = props;
  const { sources } = handlesOf(node);
  const before = document.connections.filter(({ target }) => target === node.id);
  const names = new Map(document.nodes.map((one) => [one.id, reveal(nameOf(one))]));
  return (
    <>
      {sources.length > 0 && (
        <section className={styles.ways} aria-label={texts.ways.title}>
          <h3>{texts.ways.title}</h3>
          {sources.map((way) => (
            <Way key={way.id} {...props} way={way} />
          ))}
        </section>
      )}
      {before.length > 0 && (
        <section className={styles.ways} aria-label={texts.ways.comes}>
          <h3>{texts.ways.comes}</h3>
          <ul>
            {before.map(({ id, source }) => (
              <li key={id}>
                <button type="button" className={styles.link} onClick={() => onShow(source)}>
                  {names.get(source) ?? source}
                </button>
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

function Way({ document, node, way, dispatch, disabled, onShow }: Props & { way: Handle }) {
  const taken = document.connections.filter((one) => one.source === node.id && one.sourceHandle === way.id);
  const words = way.id === "" ? "" : reveal(way.name);
  const targets = targetsFor(document, node, way);
  const name = (one: WorkflowConnection) => {
    const target = document.nodes.find(({ id }) => id === one.target);
    const called = target === undefined ? one.target : reveal(nameOf(target));
    return one.targetHandle === LOOP_BACK ? texts.ways.loopBack(called) : called;
  };
  return (
    <div className={styles.way}>
      {words && <h4>{words}</h4>}
      <ul>
        {taken.map((one) => (
          <li key={one.id}>
            <button type="button" className={styles.link} onClick={() => onShow(one.target)}>
              {name(one)}
            </button>
            {!disabled && (
              <IconButton
                icon={X}
                label={texts.ways.remove(name(one))}
                onClick={() => dispatch({ do: "remove", lines: [one.id] })}
              />
            )}
          </li>
        ))}
      </ul>
      {taken.length === 0 && disabled && <p className="muted">{texts.ways.nothing}</p>}
      {!disabled && targets.length > 0 && (
        <Choice
          aria-label={texts.ways.add(words)}
          value=""
          options={[["", texts.ways.choose], ...targets.map(([key, called]) => [key, called] as const)]}
          onChange={(key) => {
            const connection = targets.find(([one]) => one === key)?.[2];
            if (connection) dispatch({ do: "connect", connection });
          }}
        />
      )}
    </div>
  );
}

/** A possible target of an output: a key, its name, and the connection. */
export function targetsFor(
  document: WorkflowDocument,
  node: WorkflowNode,
  way: Handle,
): (readonly [string, string, Omit<WorkflowConnection, "id">])[] {
  const twice = new Set<string>();
  const seen = new Set<string>();
  for (const one of document.nodes) (seen.has(nameOf(one)) ? twice : seen).add(nameOf(one));
  return document.nodes.flatMap((target) =>
    handlesOf(target)
      .targets.map(({ id: targetHandle }) => ({
        source: node.id,
        sourceHandle: way.id,
        target: target.id,
        targetHandle,
      }))
      .filter((connection) => mayConnect(document, connection))
      .map((connection) => {
        const name = reveal(twice.has(nameOf(target)) ? `${nameOf(target)} (${target.id})` : nameOf(target));
        const called = connection.targetHandle === LOOP_BACK ? texts.ways.loopBack(name) : name;
        return [`${target.id} ${connection.targetHandle}`, called, connection] as const;
      }),
  );
}

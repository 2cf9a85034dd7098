import { ChevronsDownUp, ChevronsUpDown, Copy, Trash2 } from "lucide-react";
import { Button } from "../../../parts/button";
import { TextField } from "../../../parts/fields";
import { reveal } from "../../../words/format";
import { nameOf } from "../../../workflow/canvas/look";
import type { Field } from "../../../workflow/kinds";
import { JOIN, JOIN_COUNT } from "../../../workflow/kinds";
import { kindOf } from "../../../workflow/node";
import type { WorkflowNode } from "../../../workflow/types";
import type { Problem } from "../workflow";
import { clipOf } from "./changes";
import { FieldOf } from "./fields/FieldOf";
import { RowsField } from "./fields/RowsField";
import styles from "./panel.module.css";
import { texts } from "./texts";
import type { Editor } from "./useEditing";
import { Ways } from "./Ways";

const LABEL_LENGTH = 100;

type Props = { editor: Editor; node: WorkflowNode; disabled: boolean; onShow: (id: string) => void };

/** The form of one step, generated from `kinds.py`. */
export function NodeForm({ editor, node, disabled, onShow }: Props) {
  const { document, dispatch, problems } = editor;
  const kind = kindOf(node);
  const mine = problems.filter((one) => one.node === node.id);
  const rest = () => dispatch({ do: "rest" });
  const arrivals = document.connections.filter(({ target }) => target === node.id).length;
  const joins = arrivals > 1 || node.data.join !== undefined ? [JOIN] : [];
  const counted = node.data.join === "n" ? [JOIN_COUNT] : [];
  const fields = kind === undefined ? [] : kind.begins ? kind.fields : [...kind.fields, ...joins, ...counted];
  return (
    <>
      <p className="muted">{kind?.help ?? texts.panel.unknown}</p>
      <General of={mine} fields={fields} />
      <TextField
        label={texts.panel.label}
        hint={texts.panel.labelHint}
        error={errorAt(mine, "label")}
        value={node.label ?? ""}
        placeholder={reveal(nameOf(node))}
        maxLength={LABEL_LENGTH}
        disabled={disabled}
        onBlur={rest}
        onChange={(label) => dispatch({ do: "label", id: node.id, label })}
      />
      {fields.map((field) => (
        <OneField key={`${node.id} ${field.name}`} {...{ editor, node, field, disabled, mine, rest }} />
      ))}
      <Ways document={document} node={node} dispatch={dispatch} disabled={disabled} onShow={onShow} />
      {!disabled && <Doings editor={editor} node={node} />}
    </>
  );
}

type FieldProps = { field: Field; mine: readonly Problem[]; rest: () => void } & Omit<Props, "onShow">;

function OneField({ editor, node, field, disabled, mine, rest }: FieldProps) {
  const { document, dispatch } = editor;
  const names = document.nodes.filter(({ id }) => id !== node.id).map(nameOf);
  const shared = { field, disabled, names: [...new Set(names)], onRest: rest, value: node.data[field.name] };
  if (field.form === "rows") {
    return (
      <RowsField
        {...shared}
        errorOf={(path) => errorAt(mine, [field.name, path].filter(Boolean).join("."))}
        onRow={(change) => dispatch({ do: "row", id: node.id, field: field.name, change })}
      />
    );
  }
  return (
    <FieldOf
      {...shared}
      error={errorAt(mine, field.name)}
      onChange={(value) => dispatch({ do: "set", id: node.id, field: field.name, value })}
    />
  );
}

/** The problems of exactly this field. */
function errorAt(problems: readonly Problem[], field: string): string | null {
  const found = problems.find((one) => (one.field ?? "").replaceAll(/[[\]]+/g, ".").replace(/\.+/g, ".") === field);
  return found === undefined ? null : `${found.message} ${found.fix}`;
}

/** The problems of the step that belong to none of its fields. */
function General({ of: problems, fields }: { of: readonly Problem[]; fields: readonly Field[] }) {
  const names = new Set(["label", ...fields.map(({ name }) => name)]);
  const general = problems.filter(({ field }) => field === null || !names.has(field.split(/[.[]/)[0] ?? ""));
  if (general.length === 0) return null;
  return (
    <ul className={styles.troubles}>
      {general.map((one) => (
        <li key={`${one.rule} ${one.connection} ${one.message}`} data-severity={one.severity}>
          {reveal(`${one.message} ${one.fix}`)}
        </li>
      ))}
    </ul>
  );
}

function Doings({ editor, node }: { editor: Editor; node: WorkflowNode }) {
  const { document, dispatch } = editor;
  const folded = node.data.collapsed === true;
  const leads = document.connections.some((one) => one.source === node.id && one.sourceHandle === "subagent");
  return (
    <div className={styles.doings}>
      {leads && (
        <Button
          label={texts.panel.fold}
          icon={folded ? ChevronsUpDown : ChevronsDownUp}
          aria-pressed={folded}
          onClick={() => dispatch({ do: "fold", id: node.id })}
        />
      )}
      <Button
        label={texts.panel.duplicate}
        icon={Copy}
        onClick={() => dispatch({ do: "paste", clip: clipOf(document, new Set([node.id])) })}
      />
      <Button
        label={texts.panel.remove}
        kind="danger"
        icon={Trash2}
        onClick={() => dispatch({ do: "remove", nodes: [node.id] })}
      />
    </div>
  );
}

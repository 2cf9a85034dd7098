import { ArrowDown, ArrowUp, Plus, Trash2 } from "lucide-react";
import { Button, IconButton } from "../../../../parts/button";
import type { Field } from "../../../../workflow/kinds";
import { emptyRow } from "../../../../workflow/node";
import type { JsonObject } from "../../../../workflow/types";
import type { RowChange } from "../changes";
import { texts } from "../texts";
import { FieldOf } from "./FieldOf";
import styles from "./fields.module.css";
import type { FieldProps } from "./props";

type Props = Omit<FieldProps, "onChange" | "error"> & {
  onRow: (change: RowChange) => void;
  /** The problem of a field of a row: `2.value`; empty: of the rows as a whole. */
  errorOf: (path: string) => string | null;
};

/** Rows with several fields, which can be reordered. */
export function RowsField({ field, value, onRow, errorOf, ...rest }: Props) {
  const rows = (Array.isArray(value) ? value : []) as JsonObject[];
  const error = errorOf("");
  return (
    <fieldset className={styles.rows}>
      <legend>{field.label}</legend>
      {field.help && <p className="muted">{field.help}</p>}
      {rows.map((row, place) => (
        <Row
          // biome-ignore lint/suspicious/noArrayIndexKey: a row is its place
          key={place}
          {...rest}
          field={field}
          row={row}
          place={place}
          last={place === rows.length - 1}
          onRow={onRow}
          errorOf={errorOf}
        />
      ))}
      {error && <p className={styles.error}>{error}</p>}
      {!rest.disabled && rows.length < (field.most ?? Infinity) && (
        <Button label={texts.fields.addRow} icon={Plus} onClick={() => onRow({ do: "add", row: emptyRow(field) })} />
      )}
    </fieldset>
  );
}

type RowProps = Omit<Props, "value"> & { field: Field; row: JsonObject; place: number; last: boolean };

function Row({ field, row, place, last, onRow, errorOf, ...rest }: RowProps) {
  const number = place + 1;
  return (
    <div className={styles.rowBox} role="group" aria-label={texts.fields.row(field.label, number)}>
      {field.fields.map((one) => (
        <FieldOf
          key={one.name}
          {...rest}
          field={one}
          value={row?.[one.name]}
          error={errorOf(`${place}.${one.name}`)}
          onChange={(value) => onRow({ do: "set", row: place, field: one.name, value: value ?? "" })}
        />
      ))}
      {!rest.disabled && (
        <div className={styles.rowTools}>
          <IconButton
            icon={ArrowUp}
            label={texts.fields.up(number)}
            disabled={place === 0}
            onClick={() => onRow({ do: "move", row: place, to: place - 1 })}
          />
          <IconButton
            icon={ArrowDown}
            label={texts.fields.down(number)}
            disabled={last}
            onClick={() => onRow({ do: "move", row: place, to: place + 1 })}
          />
          <IconButton
            icon={Trash2}
            label={texts.fields.removeRow(number)}
            onClick={() => onRow({ do: "remove", row: place })}
          />
        </div>
      )}
    </div>
  );
}

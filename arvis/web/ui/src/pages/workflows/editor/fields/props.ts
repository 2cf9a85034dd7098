import type { Field } from "../../../../workflow/kinds";
import type { Json } from "../../../../workflow/types";

/** Properties of all fields of a form. */
export type FieldProps = {
  field: Field;
  value: Json | undefined;
  /** `undefined`: the value is removed. */
  onChange: (value: Json | undefined) => void;
  /** The field loses the focus: the next change is a new undo step. */
  onRest: () => void;
  error: string | null;
  disabled: boolean;
  /** The names of steps whose outputs templates can use. */
  names: readonly string[];
};

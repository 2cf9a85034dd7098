import { TextArea, TextField } from "../../../parts/fields";
import { SETTINGS } from "../../../workflow/kinds";
import { FieldOf } from "./fields/FieldOf";
import { texts } from "./texts";
import type { Editor } from "./useEditing";

const NAME_LENGTH = 100;
const SLUG_LENGTH = 64;

/** The name and the settings of the workflow. */
export function AboutForm({ editor, disabled }: { editor: Editor; disabled: boolean }) {
  const { document, dispatch, slug, setSlug, problems } = editor;
  const rest = () => dispatch({ do: "rest" });
  const errorOf = (field: string) => {
    const found = problems.find(
      (one) => one.node === null && one.connection === null && one.field === `settings.${field}`,
    );
    return found === undefined ? null : `${found.message} ${found.fix}`;
  };
  return (
    <>
      <TextField
        label={texts.about.name}
        value={document.name ?? ""}
        maxLength={NAME_LENGTH}
        disabled={disabled}
        onBlur={rest}
        onChange={(value) => dispatch({ do: "about", field: "name", value })}
      />
      <TextArea
        label={texts.about.description}
        value={document.description ?? ""}
        disabled={disabled}
        onBlur={rest}
        onChange={(value) => dispatch({ do: "about", field: "description", value })}
      />
      <TextField
        label={texts.about.slug}
        hint={texts.about.slugHint}
        value={slug}
        maxLength={SLUG_LENGTH}
        disabled={disabled}
        onChange={setSlug}
      />
      {SETTINGS.map((field) => (
        <FieldOf
          key={field.name}
          field={field}
          value={document.settings[field.name]}
          error={errorOf(field.name)}
          disabled={disabled}
          names={[]}
          onRest={rest}
          onChange={(value) => dispatch({ do: "settings", field: field.name, value })}
        />
      ))}
    </>
  );
}

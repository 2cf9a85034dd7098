import { Field as Labelled } from "../../../parts/field";
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
      <Labelled label={texts.about.name}>
        <input
          value={document.name ?? ""}
          maxLength={NAME_LENGTH}
          autoComplete="off"
          disabled={disabled}
          onBlur={rest}
          onChange={(event) => dispatch({ do: "about", field: "name", value: event.target.value })}
        />
      </Labelled>
      <Labelled label={texts.about.description}>
        <textarea
          value={document.description ?? ""}
          disabled={disabled}
          onBlur={rest}
          onChange={(event) => dispatch({ do: "about", field: "description", value: event.target.value })}
        />
      </Labelled>
      <Labelled label={texts.about.slug} hint={texts.about.slugHint}>
        <input
          value={slug}
          maxLength={SLUG_LENGTH}
          autoComplete="off"
          disabled={disabled}
          onChange={(event) => setSlug(event.target.value)}
        />
      </Labelled>
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

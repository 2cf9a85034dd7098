import { type KeyboardEvent, type Ref, useState } from "react";
import { DRAGGED } from "../../../workflow/canvas/Canvas";
import { iconOf } from "../../../workflow/canvas/look";
import { type Category, KINDS, type Kind, type KindName } from "../../../workflow/kinds";
import styles from "./editor.module.css";
import { texts } from "./texts";

const CATEGORIES = Object.keys(texts.palette.categories) as Category[];
const ALL = Object.values(KINDS);

type Props = {
  /** `focus`: the new step gets the focus. */
  onAdd: (kind: KindName, focus: boolean) => void;
  search: Ref<HTMLInputElement>;
};

/** The kinds of steps by category: dragged onto the diagram, or added by a click. */
export function StepPalette({ onAdd, search }: Props) {
  const [text, setText] = useState("");
  const wanted = text.trim().toLowerCase();
  const found = ALL.filter(({ label, help }) => `${label} ${help}`.toLowerCase().includes(wanted));
  // Kinds whose name matches come before those whose description matches.
  const first = found.find(({ label }) => label.toLowerCase().startsWith(wanted)) ?? found[0];
  const pressed = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || first === undefined) return;
    event.preventDefault();
    setText("");
    onAdd(first.name, true);
  };
  return (
    <nav className={styles.palette} aria-label={texts.palette.title}>
      <input
        ref={search}
        type="search"
        value={text}
        placeholder={texts.palette.find}
        aria-label={texts.palette.find}
        title={texts.palette.hint}
        onKeyDown={pressed}
        onChange={(event) => setText(event.target.value)}
      />
      {found.length === 0 && <p className="muted">{texts.palette.nothing}</p>}
      {CATEGORIES.map((category) => {
        const kinds = found.filter((kind) => kind.category === category);
        if (kinds.length === 0) return null;
        return (
          <section key={category} aria-label={texts.palette.categories[category]}>
            <h2>{texts.palette.categories[category]}</h2>
            <ul>
              {kinds.map((kind) => (
                <Entry key={kind.name} kind={kind} onAdd={onAdd} />
              ))}
            </ul>
          </section>
        );
      })}
    </nav>
  );
}

function Entry({ kind, onAdd }: { kind: Kind; onAdd: Props["onAdd"] }) {
  const Icon = iconOf(kind.name);
  return (
    <li>
      <button
        type="button"
        draggable
        className={styles.kind}
        data-category={kind.category}
        title={kind.help}
        aria-label={texts.palette.add(kind.label)}
        onClick={() => onAdd(kind.name, false)}
        onDragStart={(event) => {
          event.dataTransfer.setData(DRAGGED, kind.name);
          event.dataTransfer.effectAllowed = "copy";
        }}
      >
        <Icon aria-hidden />
        {kind.label}
      </button>
    </li>
  );
}

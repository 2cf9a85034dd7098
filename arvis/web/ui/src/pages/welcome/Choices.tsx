import styles from "./welcome.module.css";

type Props<T extends string> = {
  label: string;
  options: readonly (readonly [T, string, string])[];
  chosen: T | null;
  onChoose: (one: T) => void;
};

/** Large buttons, one of which is chosen: `[["openai", "OpenAI", "The GPT models."], …]`. */
export function Choices<T extends string>({ label, options, chosen, onChoose }: Props<T>) {
  return (
    <div className={styles.choices} role="group" aria-label={label}>
      {options.map(([one, title, about]) => (
        <button key={one} type="button" aria-pressed={one === chosen} onClick={() => onChoose(one)}>
          <strong>{title}</strong>
          <span>{about}</span>
        </button>
      ))}
    </div>
  );
}

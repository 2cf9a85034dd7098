import { clock, exactly } from "../../words/format";

/** The time of day of a message, with the exact time on hover. */
export function Moment({ at }: { at: number }) {
  return (
    <time dateTime={new Date(at).toISOString()} title={exactly(at)}>
      {clock(at)}
    </time>
  );
}

import { clock, exactly } from "../../words/format";

/** The time of a message: the clock, and the exact time on hover. */
export function Moment({ at }: { at: number }) {
  return (
    <time dateTime={new Date(at).toISOString()} title={exactly(at)}>
      {clock(at)}
    </time>
  );
}

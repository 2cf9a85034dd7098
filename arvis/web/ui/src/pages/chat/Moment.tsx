import { clock, exactly } from "../../words/format";

/** When something was said: the clock, and exactly on hover. */
export function Moment({ at }: { at: number }) {
  return (
    <time dateTime={new Date(at).toISOString()} title={exactly(at)}>
      {clock(at)}
    </time>
  );
}

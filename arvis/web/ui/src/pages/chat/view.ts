/** What is shown of one channel. */

import type { Link } from "../../api/connection";
import type { Talk } from "./entries";

/** What the server said that belongs to no message. */
export type Fault = { message: string; fix: string };

/** What is shown of a channel; another object whenever something of it is another. */
export type View = {
  talk: Talk;
  link: Link;
  /** Whether the stored past was looked at. */
  loaded: boolean;
  /** Whether there are older messages, and whether they are on their way. */
  older: "none" | "more" | "loading";
  fault: Fault | null;
};

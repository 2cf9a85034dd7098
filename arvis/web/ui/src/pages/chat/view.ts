/** The view of one channel. */

import type { Link } from "../../api/connection";
import type { Talk } from "./entries";

/** Server errors that belong to no message. */
export type Fault = { message: string; fix: string };

/** The view of a channel; a new object whenever a part of it changes. */
export type View = {
  talk: Talk;
  link: Link;
  /** True once the stored history was loaded. */
  loaded: boolean;
  /** `more`: older messages exist; `loading`: they are being requested. */
  older: "none" | "more" | "loading";
  fault: Fault | null;
};

/** The pages of the dashboard, as the frame and the settings page see them. `App` provides the table of `pages/pages.ts`. */

import type { LucideIcon } from "lucide-react";
import { type ComponentType, createContext, type LazyExoticComponent, useContext } from "react";
import { useMay } from "../api/session";
import type { texts } from "./texts";

export type PageEntry = {
  /** The route; the page itself handles the parts behind the first one. */
  path: string;
  name: keyof typeof texts.pages;
  role: "chat" | "viewer" | "operator" | "owner";
  /** The position: `main` and `more` in the navigation, `settings` one level down, `hidden` only through links. */
  place: "main" | "agents" | "more" | "settings" | "hidden";
  icon?: LucideIcon;
  /** The key to press after `g`. */
  key?: string;
  component: LazyExoticComponent<ComponentType>;
};

export const PagesContext = createContext<readonly PageEntry[]>([]);

/** The pages that the user may see. */
export function usePages(): PageEntry[] {
  const may = { chat: true, viewer: useMay("viewer"), operator: useMay("operator"), owner: useMay("owner") };
  return useContext(PagesContext).filter((page) => may[page.role]);
}

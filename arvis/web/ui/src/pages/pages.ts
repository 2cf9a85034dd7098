/**
 * The pages of the dashboard: each entry has its route, the required role, and its keyboard shortcut. The navigation, the
 * palette and the routes are built from this table.
 */

import {
  Activity,
  Bot,
  Brain,
  CalendarClock,
  ChartColumn,
  CircleCheck,
  Folder,
  ListOrdered,
  type LucideIcon,
  MessageSquare,
  MessagesSquare,
  Route,
  Settings,
  Sparkles,
  Workflow,
} from "lucide-react";
import { type ComponentType, type LazyExoticComponent, lazy } from "react";
import type { texts } from "../frame/texts";

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

export const PAGES: readonly PageEntry[] = [
  {
    path: "/chat",
    name: "chat",
    role: "chat",
    place: "main",
    icon: MessageSquare,
    key: "c",
    component: lazy(() => import("./chat/ChatPage")),
  },
  {
    path: "/now",
    name: "now",
    role: "viewer",
    place: "main",
    icon: Activity,
    key: "n",
    component: lazy(() => import("./now/NowPage")),
  },
  {
    path: "/queue",
    name: "queue",
    role: "viewer",
    place: "main",
    icon: ListOrdered,
    key: "q",
    component: lazy(() => import("./queue/QueuePage")),
  },
  {
    path: "/schedules",
    name: "schedules",
    role: "operator",
    place: "main",
    icon: CalendarClock,
    key: "s",
    component: lazy(() => import("./schedules/SchedulesPage")),
  },
  {
    path: "/workflows",
    name: "workflows",
    role: "viewer",
    place: "main",
    icon: Workflow,
    key: "w",
    component: lazy(() => import("./workflows/WorkflowsPage")),
  },
  {
    path: "/questions",
    name: "questions",
    role: "viewer",
    place: "main",
    icon: CircleCheck,
    key: "a",
    component: lazy(() => import("./questions/QuestionsPage")),
  },
  {
    path: "/agents",
    name: "agents",
    role: "viewer",
    place: "agents",
    icon: Bot,
    key: "b",
    component: lazy(() => import("./agents/AgentsPage")),
  },
  {
    path: "/memory",
    name: "memory",
    role: "chat",
    place: "agents",
    icon: Brain,
    key: "m",
    component: lazy(() => import("./memory/MemoryPage")),
  },
  {
    path: "/skills",
    name: "skills",
    role: "viewer",
    place: "agents",
    icon: Sparkles,
    key: "k",
    component: lazy(() => import("./skills/SkillsPage")),
  },
  {
    path: "/projects",
    name: "projects",
    role: "operator",
    place: "agents",
    icon: Folder,
    key: "p",
    component: lazy(() => import("./projects/ProjectsPage")),
  },
  {
    path: "/conversations",
    name: "conversations",
    role: "viewer",
    place: "more",
    icon: MessagesSquare,
    key: "v",
    component: lazy(() => import("./conversations/ConversationsPage")),
  },
  {
    path: "/executions",
    name: "executions",
    role: "viewer",
    place: "more",
    icon: Route,
    key: "r",
    component: lazy(() => import("./executions/ExecutionsPage")),
  },
  {
    path: "/usage",
    name: "usage",
    role: "operator",
    place: "more",
    icon: ChartColumn,
    key: "u",
    component: lazy(() => import("./usage/UsagePage")),
  },
  {
    path: "/settings",
    name: "settings",
    role: "viewer",
    place: "more",
    icon: Settings,
    key: "t",
    component: lazy(() => import("./settings/SettingsPage")),
  },
  {
    path: "/settings/accounts",
    name: "accounts",
    role: "operator",
    place: "settings",
    component: lazy(() => import("./accounts/AccountsPage")),
  },
  {
    path: "/settings/bots",
    name: "bots",
    role: "operator",
    place: "settings",
    component: lazy(() => import("./bots/BotsPage")),
  },
  {
    path: "/settings/people",
    name: "people",
    role: "viewer",
    place: "settings",
    component: lazy(() => import("./people/PeoplePage")),
  },
  {
    path: "/settings/clients",
    name: "clients",
    role: "operator",
    place: "settings",
    component: lazy(() => import("./clients/ClientsPage")),
  },
  {
    path: "/settings/webhooks",
    name: "webhooks",
    role: "operator",
    place: "settings",
    component: lazy(() => import("./webhooks/WebhooksPage")),
  },
  {
    path: "/settings/variables",
    name: "variables",
    role: "operator",
    place: "settings",
    component: lazy(() => import("./variables/VariablesPage")),
  },
  {
    path: "/settings/users",
    name: "users",
    role: "chat",
    place: "settings",
    component: lazy(() => import("./users/UsersPage")),
  },
  {
    path: "/settings/configuration",
    name: "configuration",
    role: "operator",
    place: "settings",
    component: lazy(() => import("./configuration/ConfigurationPage")),
  },
  {
    path: "/settings/doctor",
    name: "doctor",
    role: "operator",
    place: "settings",
    component: lazy(() => import("./doctor/DoctorPage")),
  },
  {
    path: "/settings/logs",
    name: "logs",
    role: "operator",
    place: "settings",
    component: lazy(() => import("./logs/LogsPage")),
  },
  {
    path: "/settings/audit",
    name: "audit",
    role: "operator",
    place: "settings",
    component: lazy(() => import("./audit/AuditPage")),
  },
  {
    path: "/messages",
    name: "messages",
    role: "viewer",
    place: "hidden",
    component: lazy(() => import("./messages/MessagePage")),
  },
  {
    path: "/welcome",
    name: "welcome",
    role: "owner",
    place: "hidden",
    component: lazy(() => import("./welcome/WelcomePage")),
  },
];

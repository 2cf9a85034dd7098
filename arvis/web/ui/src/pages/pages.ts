/**
 * The pages of the dashboard: each has its route, the required role, its position, its module, its icon and its keyboard
 * shortcut. The navigation, the palette and the routes are built from this table.
 */

import {
  Activity,
  Bell,
  BookOpen,
  Bot,
  Brain,
  CalendarClock,
  ChartColumn,
  CircleCheck,
  FlaskConical,
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
import { type ComponentType, lazy } from "react";
import type { PageEntry } from "../frame/pages";

export const PAGES: readonly PageEntry[] = [
  page("/chat", "chat", "main", () => import("./chat/ChatPage"), MessageSquare, "c"),
  page("/now", "viewer", "main", () => import("./now/NowPage"), Activity, "n"),
  page("/queue", "viewer", "main", () => import("./queue/QueuePage"), ListOrdered, "q"),
  page("/schedules", "operator", "main", () => import("./schedules/SchedulesPage"), CalendarClock, "s"),
  page("/workflows", "viewer", "main", () => import("./workflows/WorkflowsPage"), Workflow, "w"),
  page("/questions", "viewer", "main", () => import("./questions/QuestionsPage"), CircleCheck, "a"),
  page("/agents", "viewer", "agents", () => import("./agents/AgentsPage"), Bot, "b"),
  page("/memory", "chat", "agents", () => import("./memory/MemoryPage"), Brain, "m"),
  page("/skills", "viewer", "agents", () => import("./skills/SkillsPage"), Sparkles, "k"),
  page("/knowledge", "viewer", "agents", () => import("./knowledge/KnowledgePage"), BookOpen, "d"),
  page("/evaluations", "viewer", "agents", () => import("./evaluations/EvaluationsPage"), FlaskConical, "e"),
  page("/projects", "operator", "agents", () => import("./projects/ProjectsPage"), Folder, "p"),
  page("/conversations", "viewer", "more", () => import("./conversations/ConversationsPage"), MessagesSquare, "v"),
  page("/executions", "viewer", "more", () => import("./executions/ExecutionsPage"), Route, "r"),
  page("/usage", "operator", "more", () => import("./usage/UsagePage"), ChartColumn, "u"),
  page("/settings", "viewer", "more", () => import("./settings/SettingsPage"), Settings, "t"),
  page("/settings/accounts", "operator", "settings", () => import("./accounts/AccountsPage")),
  page("/settings/bots", "operator", "settings", () => import("./bots/BotsPage")),
  page("/settings/people", "viewer", "settings", () => import("./people/PeoplePage")),
  page("/settings/clients", "operator", "settings", () => import("./clients/ClientsPage")),
  page("/settings/webhooks", "operator", "settings", () => import("./webhooks/WebhooksPage")),
  page("/settings/variables", "operator", "settings", () => import("./variables/VariablesPage")),
  page("/settings/credentials", "operator", "settings", () => import("./credentials/CredentialsPage")),
  page("/settings/servers", "operator", "settings", () => import("./servers/ServersPage")),
  page("/settings/users", "chat", "settings", () => import("./users/UsersPage")),
  page("/settings/configuration", "operator", "settings", () => import("./configuration/ConfigurationPage")),
  page("/settings/backups", "owner", "settings", () => import("./backups/BackupsPage")),
  page("/settings/doctor", "operator", "settings", () => import("./doctor/DoctorPage")),
  page("/settings/logs", "operator", "settings", () => import("./logs/LogsPage")),
  page("/settings/audit", "operator", "settings", () => import("./audit/AuditPage")),
  page("/notifications", "viewer", "more", () => import("./notifications/NotificationsPage"), Bell, "l"),
  page("/messages", "viewer", "hidden", () => import("./messages/MessagePage")),
  page("/welcome", "owner", "hidden", () => import("./welcome/WelcomePage")),
];

type Name = PageEntry["name"];

/** A page, named by the last part of its path. */
function page(
  path: `/${Name}` | `/settings/${Name}`,
  role: PageEntry["role"],
  place: PageEntry["place"],
  load: () => Promise<{ default: ComponentType }>,
  icon?: LucideIcon,
  key?: string,
): PageEntry {
  const name = path.slice(path.lastIndexOf("/") + 1) as Name;
  return { path, name, role, place, icon, key, component: lazy(load) };
}

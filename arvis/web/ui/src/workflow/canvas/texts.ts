import { words } from "../../words/words";

export const texts = words({
  en: {
    helps: "Connect as a subagent of another agent",
    wayOut: (way: string) => `Output: ${way}`,
    states: {
      pending: "not reached yet",
      running: "running",
      waiting: "waiting",
      done: "done",
      failed: "failed",
      skipped: "skipped",
      cancelled: "cancelled",
    },
    problems: (count: number) => (count === 1 ? "1 problem" : `${count} problems`),
    hints: (count: number) => (count === 1 ? "1 hint" : `${count} hints`),
    more: (count: number) => `+${count}`,
    expand: (count: number) => `Show ${count === 1 ? "1 subagent" : `${count} subagents`}`,
    collapse: "Hide subagents",
    line: (from: string, way: string, to: string) =>
      way ? `Connection from ${from} (${way}) to ${to}` : `Connection from ${from} to ${to}`,
    node: (kind: string, name: string, about: string) => [kind, name, about].filter(Boolean).join(", "),
    zoomIn: "Zoom in by 10 %",
    zoomOut: "Zoom out by 10 %",
    percent: (zoom: number) => `${zoom} %`,
    fit: "Fit everything in view",
    view: "View",
    describe: {
      node: "Press Enter to open the form of the step, an arrow key to move the step, c to connect it, or Delete to remove it.",
      line: "Press Enter to select the connection, or Delete to remove it.",
      readOnly: "Press Enter to see what the step did.",
    },
  },
});

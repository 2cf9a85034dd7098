import { words } from "../../words/words";

export const texts = words({
  en: {
    title: "Projects",
    about: "What agents work on by themselves, when their heartbeat wakes them.",
    add: "New project",
    name: "Title",
    goal: "Goal",
    goalHint: "What is to be there in the end, and how one would see it.",
    agent: "Agent",
    agentHint: "Whose heartbeat works on it.",
    anybody: "Any agent",
    status: "Status",
    statuses: { active: "Active", paused: "Paused", done: "Done" },
    notes: "Notes",
    notesHint: "Agents write here how far they are.",
    changed: "Changed",
    save: "Save",
    saved: "Saved.",
    made: "The project is made.",
    undo: "Undo",
    undone: "As it was before.",
    remove: "Remove",
    removed: "The project is removed.",
    empty: "No projects here",
    emptyWhy: "A project has a goal and notes. An agent with a heartbeat takes it a step further each time it wakes.",
  },
});

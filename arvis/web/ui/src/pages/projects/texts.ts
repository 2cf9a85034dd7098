import { words } from "../../words/words";

export const texts = words({
  en: {
    title: "Projects",
    about: "Goals that agents work on by themselves at each heartbeat.",
    add: "New project",
    name: "Title",
    goal: "Goal",
    goalHint: "The result that you want, and how the agent recognizes that this result is reached.",
    agent: "Agent",
    agentHint: "At its heartbeats, this agent works on the project.",
    anybody: "Any agent",
    status: "Status",
    statuses: { active: "Active", paused: "Paused", done: "Done" },
    notes: "Notes",
    notesHint: "Agents record their progress here.",
    changed: "Changed",
    made: "The project was created.",
    removed: "The project was deleted.",
    gone: "This project does not exist",
    empty: "No projects here",
    emptyWhy:
      "A project has a goal and notes. Agents work on projects when their heartbeats are due. Create a heartbeat on the Schedules page.",
  },
});

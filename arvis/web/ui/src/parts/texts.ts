import { words } from "../words/words";

export const texts = words({
  en: {
    close: "Close",
    copy: "Copy",
    copied: "Copied",
    more: "Show more",
    loading: "Loading",
    tryAgain: "Try again",
    cancel: "Cancel",
    failed: "This could not be read.",
    newRows: (count: number) => (count === 1 ? "1 new" : `${count} new`),
    rows: "Rows",
    select: "Select",
    selectAll: "Select all",
    selected: (count: number) => `${count} selected`,
    search: "Search",
    all: "All",
    agent: "Agent",
    everyAgent: "Every agent",
    workflow: (name: string) => `Workflow: ${name}`,
    none: "None",
    input: "Input",
    output: "Output",
    details: "Details",
    unsaved: {
      lost: {
        title: "Leave without saving?",
        words: "Your changes on this page are not saved and will be lost.",
        yes: "Leave",
      },
      kept: {
        title: "Leave without saving?",
        words: "The changes stay in this browser and are offered when you come back.",
        yes: "Leave",
      },
      left: "The changes are not saved. They stay in this browser and are offered when you come back.",
      back: "Go back",
    },
    notFound: "There is nothing at this address.",
  },
});

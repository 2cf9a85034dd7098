import { words } from "../../words/words";

export const texts = words({
  en: {
    title: "Usage",
    about: "Model calls with their tokens and cost.",
    span: "Period",
    today: "Today",
    week: "7 days",
    month: "30 days",
    quarter: "90 days",
    perDay: "Per day",
    split: "One line per",
    by: "One row per",
    groups: "Groups",
    bys: { agent: "Agent", model: "Model", account: "Account", client: "Customer", principal: "Person", day: "Day" },
    cost: "Cost",
    unpriced: "Unknown price",
    atLeast: (sum: string) => `at least ${sum}`,
    unpricedWhy: (calls: string) =>
      `Arvis does not know the price of ${calls} of these calls. Set the prices of the models in config.yaml.`,
    calls: "Calls",
    tokens: "Tokens",
    input: "Input tokens",
    output: "Output tokens",
    errors: "Errors",
    success: "Success rate",
    average: "Average duration",
    none: "None",
    empty: "No model calls in this period",
    emptyWhy: "Each model call is listed here with its tokens, price and account.",
  },
});

import { Route, Switch } from "wouter";
import { AgentPage } from "./AgentPage";
import { AgentTable } from "./AgentTable";
import { NewAgent } from "./NewAgent";

/** All agents, a new one, or one of them with its tabs. */
export default function AgentsPage() {
  return (
    <Switch>
      <Route path="/agents" component={AgentTable} />
      <Route path="/agents/new" component={NewAgent} />
      <Route path="/agents/:slug/:tab?">{({ slug, tab = "" }) => <AgentPage key={slug} slug={slug} tab={tab} />}</Route>
    </Switch>
  );
}

import { lazy } from "react";
import { Route, Switch } from "wouter";
import { DetailPage } from "./DetailPage";
import { Gallery, ImportPage } from "./Gallery";
import { List } from "./List";
import { RunPage } from "./run/RunPage";

const EditorPage = lazy(() => import("./editor/EditorPage"));

/** Workflows: the list, the examples, one workflow, and one of its runs. */
export default function WorkflowsPage() {
  return (
    <Switch>
      <Route path="/workflows">
        <List />
      </Route>
      <Route path="/workflows/examples">
        <Gallery />
      </Route>
      <Route path="/workflows/import">
        <ImportPage />
      </Route>
      <Route path="/workflows/new">
        <EditorPage />
      </Route>
      <Route path="/workflows/:workflow/edit">
        <EditorPage />
      </Route>
      <Route path="/workflows/:workflow/runs/:run">{({ run }) => <RunPage key={run} id={run} />}</Route>
      <Route path="/workflows/:workflow/versions/:version">
        {({ workflow, version }) => (
          <DetailPage key={workflow} id={workflow} tab="versions" version={Number(version)} />
        )}
      </Route>
      <Route path="/workflows/:workflow/:tab?">
        {({ workflow, tab }) => <DetailPage key={workflow} id={workflow} tab={tab ?? ""} />}
      </Route>
    </Switch>
  );
}

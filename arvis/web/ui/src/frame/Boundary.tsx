import { Component, type ReactNode } from "react";
import { Button } from "../parts/button";
import { Empty } from "../parts/states";
import { texts } from "./texts";

const OUTDATED = /dynamically imported module|Importing a module script failed|error loading dynamically/i;

/** Contain the error of a page so that the frame stays usable. If chunks are missing because of an update, a reload helps. */
export class Boundary extends Component<{ children: ReactNode }, { error: Error | null }> {
  override state = { error: null as Error | null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    const { error } = this.state;
    if (error === null) return this.props.children;
    const outdated = OUTDATED.test(error.message);
    return (
      <Empty
        why={outdated ? undefined : error.message}
        title={outdated ? texts.outdated : texts.broken}
        action={<Button label={texts.reload} onClick={() => window.location.reload()} />}
      />
    );
  }
}

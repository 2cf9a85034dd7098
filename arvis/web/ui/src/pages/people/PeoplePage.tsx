import { Page } from "../../parts/page";
import { Skeleton } from "../../parts/states";

export default function PeoplePage() {
  return (
    <Page title="PeoplePage">
      <Skeleton />
    </Page>
  );
}

import { Page } from "../../parts/page";
import { Skeleton } from "../../parts/states";

export default function AgentsPage() {
  return (
    <Page title="AgentsPage">
      <Skeleton />
    </Page>
  );
}

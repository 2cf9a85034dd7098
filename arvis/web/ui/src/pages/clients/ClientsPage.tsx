import { Page } from "../../parts/page";
import { Skeleton } from "../../parts/states";

export default function ClientsPage() {
  return (
    <Page title="ClientsPage">
      <Skeleton />
    </Page>
  );
}

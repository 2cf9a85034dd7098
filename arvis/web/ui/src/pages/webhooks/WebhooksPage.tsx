import { Page } from "../../parts/page";
import { Skeleton } from "../../parts/states";

export default function WebhooksPage() {
  return (
    <Page title="WebhooksPage">
      <Skeleton />
    </Page>
  );
}

import { Page } from "../../parts/page";
import { Skeleton } from "../../parts/states";

export default function ConversationsPage() {
  return (
    <Page title="ConversationsPage">
      <Skeleton />
    </Page>
  );
}

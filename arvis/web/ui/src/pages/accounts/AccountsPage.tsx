import { Page } from "../../parts/page";
import { Skeleton } from "../../parts/states";

export default function AccountsPage() {
  return (
    <Page title="AccountsPage">
      <Skeleton />
    </Page>
  );
}

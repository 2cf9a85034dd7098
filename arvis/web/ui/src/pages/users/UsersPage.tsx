import { Page } from "../../parts/page";
import { Skeleton } from "../../parts/states";

export default function UsersPage() {
  return (
    <Page title="UsersPage">
      <Skeleton />
    </Page>
  );
}

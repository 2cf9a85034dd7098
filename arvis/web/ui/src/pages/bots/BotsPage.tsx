import { Page } from "../../parts/page";
import { Skeleton } from "../../parts/states";

export default function BotsPage() {
  return (
    <Page title="BotsPage">
      <Skeleton />
    </Page>
  );
}

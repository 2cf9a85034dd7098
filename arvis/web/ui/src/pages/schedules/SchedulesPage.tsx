import { Page } from "../../parts/page";
import { Skeleton } from "../../parts/states";

export default function SchedulesPage() {
  return (
    <Page title="SchedulesPage">
      <Skeleton />
    </Page>
  );
}

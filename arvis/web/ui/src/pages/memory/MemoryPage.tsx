import { Page } from "../../parts/page";
import { Skeleton } from "../../parts/states";

export default function MemoryPage() {
  return (
    <Page title="MemoryPage">
      <Skeleton />
    </Page>
  );
}

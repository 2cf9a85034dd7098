import { Page } from "../../parts/page";
import { Skeleton } from "../../parts/states";

export default function SkillsPage() {
  return (
    <Page title="SkillsPage">
      <Skeleton />
    </Page>
  );
}

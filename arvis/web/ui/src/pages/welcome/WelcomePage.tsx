import { Page } from "../../parts/page";
import { Skeleton } from "../../parts/states";

export default function WelcomePage() {
  return (
    <Page title="WelcomePage">
      <Skeleton />
    </Page>
  );
}

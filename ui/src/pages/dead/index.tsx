import { Page } from "@/components/layout";

export default function DeadPage() {
  return (
    <Page title="Dead letters">
      <div className="card p-8 text-ink-2">This page is being built.</div>
    </Page>
  );
}

import { Page } from "@/components/layout";

export default function JobPage() {
  return (
    <Page title="Job">
      <div className="card p-8 text-ink-2">This page is being built.</div>
    </Page>
  );
}

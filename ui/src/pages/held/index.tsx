import { Page } from "@/components/layout";

export default function HeldPage() {
  return (
    <Page title="Held">
      <div className="card p-8 text-ink-2">This page is being built.</div>
    </Page>
  );
}

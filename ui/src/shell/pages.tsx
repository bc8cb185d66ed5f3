/** What stands in for a page that is being loaded, that there is not, or that broke. */

import type { ErrorComponentProps } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { Button, ButtonLink } from "@/components/button";
import { EmptyState, SkeletonRows } from "@/components/feedback";
import { Page } from "@/components/layout";
import { toast } from "@/components/toast";
import { messageOf, send } from "@/lib/api";
import { live } from "@/lib/live";
import { useStore } from "@/lib/store";

export function LoadingPage() {
  return (
    <Page title="Loading">
      <div className="card">
        <SkeletonRows />
      </div>
    </Page>
  );
}

export function MissingPage() {
  return (
    <Page title="Not found">
      <div className="card">
        <EmptyState
          icon="search"
          title="There is no such page"
          actions={
            <ButtonLink to="/" look="primary">
              To the overview
            </ButtonLink>
          }
        >
          The address may be mistyped, or what was here is gone.
        </EmptyState>
      </div>
    </Page>
  );
}

/** A page failed while it was drawn, or its file could not be loaded. It comes when the server is back. */
export function LostPage({ error }: ErrorComponentProps) {
  const isLive = useStore(live).kind === "live";
  const wasGone = useRef(false);
  useEffect(() => {
    if (!isLive) wasGone.current = true;
    else if (wasGone.current) location.reload();
  }, [isLive]);
  async function again() {
    try {
      await send("GET", "healthz");
      location.reload();
    } catch (fault) {
      toast.bad(messageOf(fault));
    }
  }
  return (
    <Page title="Something went wrong">
      <div className="card" role="alert">
        <EmptyState
          icon="warning"
          title="This page could not be shown"
          actions={
            <Button look="primary" icon="retry" onClick={() => void again()}>
              Load it again
            </Button>
          }
        >
          {messageOf(error)}
        </EmptyState>
      </div>
    </Page>
  );
}

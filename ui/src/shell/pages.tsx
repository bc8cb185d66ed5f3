/** What stands in for a page that is being loaded, that there is not, or that broke. */

import type { ErrorComponentProps } from "@tanstack/react-router";
import { Button, ButtonLink } from "@/components/button";
import { EmptyState, SkeletonRows } from "@/components/feedback";
import { Page } from "@/components/layout";
import { messageOf } from "@/lib/api";

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

/** A page failed while it was drawn, or its files are those of an older server. */
export function LostPage({ error }: ErrorComponentProps) {
  return (
    <Page title="Something went wrong">
      <div className="card" role="alert">
        <EmptyState
          icon="warning"
          title="This page could not be shown"
          actions={
            <Button look="primary" icon="retry" onClick={() => location.reload()}>
              Load it again
            </Button>
          }
        >
          The server cannot be reached, or it was updated while this window was open. ({messageOf(error)})
        </EmptyState>
      </div>
    </Page>
  );
}

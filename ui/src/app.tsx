/** The pages and their addresses. Every page is loaded when it is first opened. */

import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router";
import type { ComponentType } from "react";
import { send } from "./lib/api";
import type { Params } from "./lib/filters";
import { formatParams, parseParams } from "./lib/params";
import { appPath } from "./lib/place";
import { LoadingPage, LostPage, MissingPage } from "./shell/pages";
import { Shell } from "./shell/shell";

const root = createRootRoute({
  component: Shell,
  notFoundComponent: MissingPage,
  validateSearch: (search: Record<string, unknown>) => search as Params,
});

type Load = () => Promise<{ default: ComponentType }>;

/**
 * A page's file did not come. The router then loads the app anew, as after an update of the server; but while
 * there is no server, that would leave the window with nothing at all.
 */
async function explain(error: unknown): Promise<never> {
  await send("GET", "healthz");
  throw error;
}

function page<Path extends string>(path: Path, load: Load) {
  return createRoute({
    getParentRoute: () => root,
    path,
    component: lazyRouteComponent(() => load().catch(explain)),
  });
}

const routes = root.addChildren([
  page("/", () => import("./pages/overview")),
  page("/queues", () => import("./pages/queues")),
  page("/queues/$name", () => import("./pages/queue")),
  page("/jobs", () => import("./pages/jobs")),
  page("/jobs/$id", () => import("./pages/job")),
  page("/dead", () => import("./pages/dead")),
  page("/held", () => import("./pages/held")),
  page("/schedules", () => import("./pages/schedules")),
  page("/workers", () => import("./pages/workers")),
  page("/webhooks", () => import("./pages/webhooks")),
  page("/settings", () => import("./pages/settings")),
]);

export const router = createRouter({
  routeTree: routes,
  basepath: appPath,
  parseSearch: parseParams,
  stringifySearch: (search) => formatParams(search as Params),
  defaultPreload: "intent",
  defaultPendingComponent: LoadingPage,
  defaultErrorComponent: LostPage,
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}

/** Searches that are kept under a name, in this browser. */

import type { Params } from "./filters";
import { recall, remember } from "./keep";
import { formatParams } from "./params";
import { createStore } from "./store";

export interface View {
  name: string;
  /** What the address says, without the page. */
  params: Params;
  /** It is what the page opens with. */
  isDefault?: boolean;
}

/** Where in the list one is belongs to no view, nor does the view's own name. */
const PASSING = ["cursor", "page", "view"];

/** What of an address a view keeps. */
export function lastingParams(params: Params): Params {
  return Object.fromEntries(
    Object.entries(params)
      .filter(([name, value]) => !PASSING.includes(name) && value !== undefined && value !== "")
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}

/** Whether two addresses show the same. */
export function showsSame(a: Params, b: Params): boolean {
  return formatParams(lastingParams(a)) === formatParams(lastingParams(b));
}

/** Keep what an address shows; a view of that name is replaced where it stands. */
export function withView(views: readonly View[], name: string, params: Params): View[] {
  const view = { name, params: lastingParams(params) };
  return views.some((one) => one.name === name)
    ? views.map((one) => (one.name === name ? { ...one, ...view } : one))
    : [...views, view];
}

export function withoutView(views: readonly View[], name: string): View[] {
  return views.filter((view) => view.name !== name);
}

/** Give a view another name; one that is taken is not given twice. */
export function withName(views: readonly View[], name: string, next: string): View[] {
  return views
    .filter((view) => view.name === name || view.name !== next)
    .map((view) => (view.name === name ? { ...view, name: next } : view));
}

/** Open with this view; null: with all jobs. */
export function withDefault(views: readonly View[], name: string | null): View[] {
  return views.map(({ isDefault: _, ...view }) => (view.name === name ? { ...view, isDefault: true } : view));
}

/** What the browser kept, as far as it makes sense. */
export function readViews(kept: unknown): View[] {
  if (!Array.isArray(kept)) return [];
  return kept.filter(
    (view): view is View =>
      typeof view?.name === "string" && typeof view.params === "object" && view.params !== null,
  );
}

const NAME = "views";
export const savedViews = createStore<View[]>(readViews(recall(NAME, [])));

/** Keep these views. */
export function keepViews(views: View[]): void {
  savedViews.set(views);
  remember(NAME, views.length ? views : null);
}

/** Hear of views that another window keeps, until the returned function is called. */
export function watchViews(): () => void {
  const look = () => savedViews.set(readViews(recall(NAME, [])));
  window.addEventListener("storage", look);
  return () => window.removeEventListener("storage", look);
}

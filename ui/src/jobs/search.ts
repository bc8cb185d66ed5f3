/** The search that a list of jobs shows, shared by all that is drawn from it. */

import { useQuery } from "@tanstack/react-query";
import { ApiError } from "@/lib/api";
import { type FilterFault, filterFault } from "@/lib/filter-words";
import { type JobFilter, toRequest } from "@/lib/filters";
import { queries } from "@/lib/queries";
import { usePage } from "./pager";

/** More matches than these are not counted, if they would have to be looked at for it: that takes long with many jobs. */
const COUNTED = 10_000;

/** The page of jobs that the address asks for. */
export function useJobSearch(filter: JobFilter) {
  const { cursor, size } = usePage();
  const page = { limit: size, cursor: cursor || undefined, total_up_to: COUNTED };
  return useQuery(queries.search({ ...toRequest(filter), ...page }));
}

/** What the server has against the filter, if it is about one of its fields. */
export function faultIn(error: unknown): FilterFault | null {
  return error instanceof ApiError && error.status === 400 ? filterFault(error.message) : null;
}

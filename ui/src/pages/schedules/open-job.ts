import { router } from "@/app";

/** What a toast about a new job offers. */
export function openJobAction(id: string) {
  return { label: "Open", run: () => void router.navigate({ to: "/jobs/$id", params: { id } }) };
}

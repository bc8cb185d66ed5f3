/** A call of the API as a line for a shell that works here: with this server's address, and with a key if one is needed. */

import { auth } from "@/lib/auth";
import { curl } from "@/lib/curl";
import { serverUrl } from "@/lib/place";
import { useStore } from "@/lib/store";
import { Snippet } from "./copy";

export function ApiCommand({
  path,
  body,
  label = "command",
}: {
  path: string;
  body: Record<string, unknown>;
  label?: string;
}) {
  const needsKey = useStore(auth).key !== null;
  return (
    <Snippet
      label={label}
      text={curl(serverUrl.href, "POST", `api/v1/${path}`, JSON.stringify(body), needsKey)}
    />
  );
}

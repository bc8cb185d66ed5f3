/** Calls of the API as lines for a shell. */

/** A call with curl. The key is not written out: it comes from the environment. */
export function curl(
  server: string,
  method: string,
  path: string,
  body: string | null,
  needsKey: boolean,
): string {
  const parts = [
    `curl${method === "GET" || (method === "POST" && body !== null) ? "" : ` -X ${method}`} ${quote(server + path)}`,
  ];
  if (needsKey) parts.push('-H "X-API-Key: $ROOKERY_API_KEY"');
  if (body !== null) parts.push(`-d ${quote(body)}`);
  return parts.join(" \\\n  ");
}

/** A text as one word of a shell. */
export function quote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

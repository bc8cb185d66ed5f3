/** Where the app and its API are. Behind a proxy both may lie below a path; the API is next to the app. */

/** `https://host/any/prefix/ui/`; fixed when the page was loaded, whatever the address is now. */
export const appUrl = new URL(".", document.baseURI);

/** `https://host/any/prefix/`. */
export const serverUrl = new URL("..", appUrl);

/** The path that all pages of the app begin with. */
export const appPath = appUrl.pathname;

/** The address of a call, such as `api/v1/queues`. */
export function callUrl(path: string, query: Record<string, Param> = {}): string {
  const url = new URL(path, serverUrl);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== "") url.searchParams.set(name, String(value));
  }
  return url.href;
}

export type Param = string | number | boolean | null | undefined;

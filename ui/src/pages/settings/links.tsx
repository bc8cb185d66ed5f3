/** What else the server shows. */

import { Icon } from "@/components/icons";
import { Card } from "@/components/layout";
import { serverUrl } from "@/lib/place";

const LINKS: [path: string, title: string, about: string][] = [
  ["docs", "API documentation", "every call, to read and to try"],
  ["openapi.json", "OpenAPI description", "the same for programs"],
  ["metrics", "Metrics", "for Prometheus"],
  ["healthz", "Health", "for load balancers"],
];

export function Links() {
  return (
    <Card flush title="Links">
      <ul className="divide-y divide-line border-line border-t">
        {LINKS.map(([path, title, about]) => (
          <li key={path}>
            <a
              href={new URL(path, serverUrl).href}
              target="_blank"
              rel="noreferrer"
              className="flex min-h-10 items-center gap-3 px-4 py-2 text-sm outline-offset-[-2px] hover:bg-hover"
            >
              <span className="font-medium">{title}</span>
              <span className="text-ink-3 max-sm:hidden">{about}</span>
              <code className="ml-auto font-mono text-ink-3 text-xs">/{path}</code>
              <Icon name="external" size={14} className="shrink-0 text-ink-3" />
              <span className="sr-only">(opens in a new window)</span>
            </a>
          </li>
        ))}
      </ul>
    </Card>
  );
}

/** A job's id that leads to the job. */

import { Link } from "@tanstack/react-router";
import { shortId } from "./payload";

export function JobLink({ id, onClick }: { id: string; onClick?: () => void }) {
  return (
    <Link
      to="/jobs/$id"
      params={{ id }}
      title={id}
      onClick={onClick}
      className="link break-all rounded font-mono text-xs"
    >
      {shortId(id)}
    </Link>
  );
}

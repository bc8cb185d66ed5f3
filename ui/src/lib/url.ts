/** The address bar as state. */

import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";
import type { Params } from "./filters";

/** The parameters of this page, and a way to change some of them. Changes replace the address unless told to push. */
export function useParams(): [Params, (changes: Params, how?: { push?: boolean; clear?: boolean }) => void] {
  const params = useSearch({ strict: false }) as Params;
  const navigate = useNavigate();
  const change = useCallback(
    (changes: Params, how: { push?: boolean; clear?: boolean } = {}) => {
      void navigate({
        to: ".",
        search: ((before: Params) => ({ ...(how.clear ? {} : before), ...changes })) as never,
        replace: !how.push,
        resetScroll: false,
      });
    },
    [navigate],
  );
  return [params, change];
}

export { param } from "./params";

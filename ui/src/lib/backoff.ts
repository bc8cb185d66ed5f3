/** How patient to be with a server that does not answer. */

const FIRST_WAIT = 500;
const LONGEST_WAIT = 15_000;

/** How long to wait before the next attempt, with some chance in it, so that not all come back at once. */
export function backoff(attempt: number, chance: number): number {
  return Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** attempt) * (0.75 + chance / 2);
}

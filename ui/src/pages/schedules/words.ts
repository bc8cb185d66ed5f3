/** What the rules of a schedule mean. */

/** What a slot does while the job of the last run has not ended. */
export const OVERLAPS: Record<string, string> = {
  allow: "Add another job",
  skip: "Add none until it has ended",
};

/** What becomes of slots that came while no server ran. */
export const MISSED: Record<string, string> = {
  once: "One job for all of them",
  skip: "No job",
  all: "A job for each, at most 100",
};

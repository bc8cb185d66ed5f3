/** What the rules of a schedule mean. */

export const OVERLAPS: Record<string, string> = {
  allow: "allow: add a job even if the last one has not ended",
  skip: "skip: add none until the last one has ended",
};

export const MISSED: Record<string, string> = {
  once: "once: one job for all that were missed",
  skip: "skip: none",
  all: "all: a job for each, at most 100",
};

import { describe, expect, it } from "vitest";
import { describeCron } from "./cron";

describe("describeCron", () => {
  it.each([
    ["0 3 * * *", "every day at 03:00"],
    ["30 2 * * mon", "every Monday at 02:30"],
    ["30 2 * * 7", "every Sunday at 02:30"],
    ["0 9 * * 1-5", "Monday to Friday at 09:00"],
    ["*/5 * * * *", "every 5 minutes"],
    ["*/15 * * * mon-fri", "every 15 minutes, Monday to Friday"],
    ["* * * * *", "every minute"],
    ["0 * * * *", "every hour"],
    ["7 * * * *", "every hour at minute 7"],
    ["0 */6 * * *", "every 6 hours at minute 0"],
    ["0 0 1 * *", "on day 1 of each month at 00:00"],
    ["@Daily", "every day at 00:00"],
  ])("says %s in words", (line, words) => expect(describeCron(line)).toBe(words));

  it.each([
    "",
    "0 0 13 * fri",
    "0 0 * 2 *",
    "5,10 * * * *",
    "0 0 L * *",
    "0 0 * * mon#2",
    "0 9-17 * * *",
    "x",
  ])("leaves %s to the server", (line) => expect(describeCron(line)).toBeNull());
});

/** Usual cron lines in words. What is unusual stays as it is written: the server says when it comes. */

const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const SHORT_DAYS = DAYS.map((day) => day.slice(0, 3).toLowerCase());
const NAMED: Record<string, string> = {
  "@hourly": "every hour",
  "@daily": "every day at 00:00",
  "@midnight": "every day at 00:00",
  "@weekly": "every Sunday at 00:00",
  "@monthly": "on day 1 of each month at 00:00",
  "@yearly": "on 1 January at 00:00",
  "@annually": "on 1 January at 00:00",
};

const isNumber = (text: string) => /^\d{1,2}$/.test(text);
const two = (text: string) => text.padStart(2, "0");

/** `30 2 * * mon` is `every Monday at 02:30`; null if there are no short words for it. */
export function describeCron(line: string): string | null {
  const text = line.trim().toLowerCase();
  if (text in NAMED) return NAMED[text]!;
  const fields = text.split(/\s+/);
  if (fields.length !== 5) return null;
  const [minute, hour, day, month, weekday] = fields as [string, string, string, string, string];
  if (month !== "*") return null;
  const days = daysOf(day, weekday);
  if (days === null) return null;
  if (isNumber(minute) && isNumber(hour)) return `${days} at ${two(hour)}:${two(minute)}`;
  const often = oftenOf(minute, hour);
  return often === null ? null : days === "every day" ? often : `${often}, ${days}`;
}

function oftenOf(minute: string, hour: string): string | null {
  if (hour !== "*") {
    const every = /^\*\/(\d{1,2})$/.exec(hour);
    return every && isNumber(minute) ? `every ${every[1]} hours at minute ${Number(minute)}` : null;
  }
  if (minute === "*") return "every minute";
  const every = /^\*\/(\d{1,2})$/.exec(minute);
  if (every) return every[1] === "1" ? "every minute" : `every ${every[1]} minutes`;
  if (!isNumber(minute)) return null;
  return Number(minute) === 0 ? "every hour" : `every hour at minute ${Number(minute)}`;
}

function daysOf(day: string, weekday: string): string | null {
  if (day === "*" && weekday === "*") return "every day";
  if (weekday === "*") return isNumber(day) ? `on day ${Number(day)} of each month` : null;
  if (day !== "*") return null;
  if (["1-5", "mon-fri"].includes(weekday)) return "Monday to Friday";
  if (["sat-sun", "6-7", "6,0", "0,6", "sat,sun"].includes(weekday)) return "Saturday and Sunday";
  const at = isNumber(weekday) ? Number(weekday) % 7 : SHORT_DAYS.indexOf(weekday);
  return DAYS[at] === undefined ? null : `every ${DAYS[at]}`;
}

import { expect, it } from "vitest";
import { curl, quote } from "./curl";

it("writes a call for a shell", () => {
  expect(curl("http://h/", "POST", "api/v1/enqueue", '{"queue":"it\'s"}', false)).toBe(
    `curl http://h/api/v1/enqueue \\\n  -d '{"queue":"it'\\''s"}'`,
  );
  expect(curl("http://h/", "DELETE", "api/v1/jobs/a", null, true)).toBe(
    'curl -X DELETE http://h/api/v1/jobs/a \\\n  -H "X-API-Key: $ROOKERY_API_KEY"',
  );
  expect(curl("http://h/", "POST", "api/v1/jobs/a/retry", null, false)).toBe(
    "curl -X POST http://h/api/v1/jobs/a/retry",
  );
});

it.each([
  ["plain", "plain"],
  ["$(rm -rf /)", "'$(rm -rf /)'"],
  ["a'b", "'a'\\''b'"],
  ["", "''"],
])("quotes %s", (text, word) => {
  expect(quote(text)).toBe(word);
});

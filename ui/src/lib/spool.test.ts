import { expect, test } from "vitest";
import { openSpool } from "./spool";

const bytes = (text: string) => new TextEncoder().encode(text);

test("where there is no disk for it, a file is gathered in memory", async () => {
  const spool = await openSpool();
  await spool.write(bytes("one\n"));
  await spool.write(bytes("two\n"));
  expect(await (await spool.finish()).text()).toBe("one\ntwo\n");
});

test("what is discarded is gone", async () => {
  const spool = await openSpool();
  await spool.write(bytes("one"));
  await spool.discard();
  expect((await spool.finish()).size).toBe(0);
});

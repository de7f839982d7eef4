import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Heed, ModelLocation } from "../src/heed.js";
import { init } from "../src/node.js";
import { senseModel } from "./support/sense-model.js";

let heed: Heed;

beforeAll(async () => {
  heed = await init({ threads: 1 });
});

afterAll(() => heed.dispose());

describe("Heed.load()", () => {
  test("takes a path, an address of one in any case, and the files", async () => {
    const folder = "models/recall/lstm";
    const { href } = pathToFileURL(folder);
    for (const location of [
      folder,
      resolve(folder),
      href,
      href.replace("file:", "FILE:"),
      new URL(`${href}/`),
    ])
      (await heed.load(location, "recall")).dispose();
    (await heed.load(senseModel(), "disambiguate")).dispose();
    expect(heed.memory.usedBytes).toBe(0);
  });

  test.each([
    "http:",
    "https://",
    "http://a b",
    "http://[",
    "data:,x",
    "data:application/json,{}",
    "blob:x",
    "javascript:1",
    "mailto:a@b",
    "about:blank",
    "node:fs",
    "data:\u001b[31m",
  ])("refuses the address %j", async (address) => {
    const error = await heed.load(address).catch((error: unknown) => error);
    expect(error).toBeInstanceOf(RangeError);
    expect((error as Error).message).toMatch(
      /^load: an address must be that of a folder, as https:\/\/host\/folder, got "/,
    );
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not come
    expect((error as Error).message).not.toMatch(/[\0-\x1f]/);
  });

  test.each(["file://host/x", "FILE://host/x", "file:///a%2Fb", "file:///a%00b%2f"])(
    "refuses the address %j",
    async (address) => {
      const error = await heed.load(address).catch((error: unknown) => error);
      expect(error).toBeInstanceOf(RangeError);
      expect((error as Error).message).toContain("as file:///folder, got");
    },
  );

  test.each([undefined, null, 42, true, 3n, Symbol("x"), () => 1])(
    "refuses %s as a model",
    async (location) => {
      const error = await heed.load(location as unknown as string).catch((error: unknown) => error);
      expect(error).toBeInstanceOf(TypeError);
      expect((error as Error).message).toMatch(
        /^load: a model must be a path, an address or an object of files by name, got /,
      );
    },
  );

  test.each([[new ArrayBuffer(2)], ["{}"], [null], [[1]], [new Float32Array(2)]])(
    "refuses a file that is %o",
    async (file) => {
      const files = { "config.json": file } as unknown as ModelLocation;
      const error = await heed.load(files).catch((error: unknown) => error);
      expect(error).toBeInstanceOf(TypeError);
      expect((error as Error).message).toMatch(/^load: "config.json" must be a Uint8Array, got /);
    },
  );

  test.each(["", "a\0b", "x".repeat(5000), "nowhere", "ftp://127.0.0.1/x"])(
    "has an error of its own for %j",
    async (location) => {
      const error = await heed.load(location).catch((error: unknown) => error);
      expect((error as Error).name).toBe("FormatError");
      expect((error as Error).message).toMatch(/must .*, got /s);
    },
  );
});

import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type * as heedOfPage from "../../src/browser.js";
import { init } from "../../src/node.js";
import type { Reading } from "../../src/tasks/reading.js";
import { launchChromium, serve } from "./chromium.js";

const TEXT = "The cat that had slept by the window jumped. 🐈";
const RECALL = { distances: [5, 60], count: 8 };

let browser: Browser;
let page: Page;
let server: Awaited<ReturnType<typeof serve>>;

beforeAll(async () => {
  browser = await launchChromium();
  server = await serve(false);
  page = await browser.newPage();
  await page.goto(`${server.url}/test/browser/page.html`);
  await page.waitForFunction("window.heed");
}, 120_000);

afterAll(async () => {
  await browser?.close();
  server?.close();
});

/** Weights as plain numbers: an f32 is exact in JSON. */
function plain({ text, attention }: Reading): object {
  const weights = attention.weights.map((heads) =>
    heads.map((rows) => rows.map((row) => Array.from(row))),
  );
  return { text, attention: { ...attention, weights } };
}

describe("a page", () => {
  it("reads a text to the bits of Node", async () => {
    const heed = await init({ threads: 1 });
    const task = await heed.load("models/long-range-en", "long-range");
    const expected = plain(await task.read(TEXT));
    heed.dispose();
    const found = await page.evaluate(async (text) => {
      const { heed } = window as unknown as { heed: typeof heedOfPage };
      const runtime = await heed.init({ threads: 1 });
      const task = await runtime.load("/models/long-range-en", "long-range");
      const { text: read, attention } = await task.read(text);
      runtime.dispose();
      const weights = attention.weights.map((heads) =>
        heads.map((rows) => rows.map((row) => Array.from(row))),
      );
      return { text: read, attention: { ...attention, weights } };
    }, TEXT);
    expect(found).toEqual(expected);
  });

  it("scores the recall task as Node does", async () => {
    const heed = await init({ threads: 1 });
    const recall = await heed.load("models/recall/attention", "recall");
    const expected = { scores: await recall.scores(RECALL), example: recall.example(9) };
    heed.dispose();
    const found = await page.evaluate(async (options) => {
      const { heed } = window as unknown as { heed: typeof heedOfPage };
      const runtime = await heed.init({ threads: 1 });
      const recall = await runtime.load("/models/recall/attention", "recall");
      const found = { scores: await recall.scores(options), example: await recall.example(9) };
      runtime.dispose();
      return found;
    }, RECALL);
    expect(found).toEqual(expected);
  });
});

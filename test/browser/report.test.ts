import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AttentionMap } from "../../src/inspect/attention-map.js";
import { attentionHtml } from "../../src/inspect/html.js";
import { attentionSvg } from "../../src/inspect/svg.js";
import { attentionText } from "../../src/inspect/text.js";
import type * as inspectOfPage from "../../src/inspect.js";
import { drawnMap, HOSTILE, numbered } from "../inspect/maps.js";
import { launchChromium, serve } from "./chromium.js";

const row = (...weights: number[]): Float32Array => Float32Array.from(weights);
const alignment: AttentionMap = {
  title: "El gato negro",
  kind: "additive",
  queries: ["El", "gato", "negro"],
  keys: ["The", "black", "cat"],
  weights: [[[row(0.9, 0.06, 0.04), row(0.01, 0.09, 0.9), row(0, 0.75, 0.25)]]],
};
const block: AttentionMap = {
  kind: "self",
  queries: ["a", "b"],
  keys: ["a", "b"],
  weights: [
    [
      [row(1, 0), row(0, 1)],
      [row(0, 1), row(1, 0)],
    ],
    [
      [row(1, 0), row(0.5, 0.5)],
      [row(1, 0), row(1, 0)],
    ],
  ],
};

let browser: Browser;
const folder = mkdtempSync(join(tmpdir(), "heed-report-"));

beforeAll(async () => {
  browser = await launchChromium();
}, 120_000);

afterAll(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Opens a file of this text; whatever the page asks for or complains of is in `told`. */
async function open(
  text: string,
  options: BrowserContextOptions = {},
  name = "report.html",
): Promise<{ page: Page; told: string[] }> {
  const file = join(folder, name);
  writeFileSync(file, text);
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const told: string[] = [];
  const url = pathToFileURL(file).href;
  page.on("request", (request) => request.url() !== url && told.push(request.url()));
  page.on("console", (message) => told.push(message.text()));
  page.on("pageerror", (error) => told.push(error.message));
  page.on("dialog", (dialog) => told.push(dialog.message()));
  await page.goto(url);
  return { page, told };
}

/** Levels of the tokens that are looked at, by their classes. */
const levels = (page: Page): Promise<string[]> =>
  page
    .locator(".keys .t")
    .evaluateAll((tokens) => tokens.map((token) => /\bl\d+/.exec(token.className)?.[0] ?? ""));
const readout = (page: Page): Promise<string[]> =>
  page
    .locator(".readout p, .readout li span:not(.bar)")
    .evaluateAll((parts) => parts.map((part) => part.textContent ?? ""));

describe("a report", () => {
  it.each([1, 5, 30, 200])("of %i tokens asks for nothing and fits every window", async (count) => {
    const maps = [
      drawnMap({ queries: numbered(count), heads: 4, layers: 2, title: "Self" }),
      drawnMap({ queries: numbered(count), keys: numbered(count + 3), kind: "cross" }),
    ];
    for (const width of [360, 800, 1440]) {
      const { page, told } = await open(attentionHtml(maps), {
        viewport: { width, height: 800 },
      });
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
      expect(told).toEqual([]);
      await page.context().close();
    }
  });

  it("shows what the token below the pointer looks at", async () => {
    const { page } = await open(attentionHtml(alignment));
    expect(await levels(page)).toEqual(["", "", ""]);
    await page.getByRole("button", { name: "gato" }).hover();
    expect(await levels(page)).toEqual(["l2", "l5", "l15"]);
    expect(await readout(page)).toEqual([
      "gato looks at",
      "cat",
      "90.0 %",
      "black",
      "9.0 %",
      "The",
      "1.0 %",
    ]);
    await page.mouse.move(0, 0);
    expect(await levels(page)).toEqual(["", "", ""]);
    await page.context().close();
  });

  it("is used by keyboard alone", async () => {
    const { page } = await open(attentionHtml(alignment));
    const focused = (): Promise<string | null | undefined> =>
      page.evaluate(() => document.activeElement?.textContent);
    await page.keyboard.press("Tab");
    expect(await focused()).toBe("El");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    expect(await focused()).toBe("negro");
    expect(await levels(page)).toEqual(["", "l14", "l8"]);
    await page.keyboard.press("Home");
    expect(await focused()).toBe("El");
    await page.keyboard.press("End");
    await page.keyboard.press("ArrowLeft");
    expect(await focused()).toBe("gato");
    // One stop for all tokens.
    await page.keyboard.press("Tab");
    expect(await page.evaluate(() => document.activeElement?.className)).not.toContain("t");
    expect((await readout(page))[0]).toBe("gato looks at");
    await page.keyboard.press("Shift+Tab");
    expect(await focused()).toBe("gato");
    await page.keyboard.press("Escape");
    expect(await levels(page)).toEqual(["", "", ""]);
    await page.context().close();
  });

  it("shows the row and the cell of the heat map below the pointer", async () => {
    const { page } = await open(attentionHtml(alignment));
    const cells = await page.locator(".heat .l0").boundingBox();
    if (!cells) throw new Error("no heat map");
    await page.mouse.move(cells.x + cells.width / 2, cells.y + (5 * cells.height) / 6);
    expect((await readout(page))[0]).toBe("negro looks at");
    expect(await page.locator(".readout .here").textContent()).toBe("black75.0 %");
    expect(await page.locator(".cursor text").allTextContents()).toEqual(["negro", "black"]);
    await page.mouse.click(cells.x + 5, cells.y + 5);
    await page.mouse.move(0, 0);
    expect((await readout(page))[0]).toBe("El looks at");
    await page.context().close();
  });

  it("shows the label of a row that has none, and hides those it would touch", async () => {
    const { page } = await open(attentionHtml(drawnMap({ queries: numbered(200) })));
    await page.getByRole("button", { name: "token100", exact: true }).focus();
    expect(await page.locator(".cursor text").textContent()).toBe("token100");
    const gap = await page.evaluate(() => {
      const mark = document.querySelector(".cursor text")?.getBoundingClientRect() as DOMRect;
      return [...document.querySelectorAll(".rows text:not([visibility=hidden])")]
        .map((text) => ({ text: text.textContent, box: text.getBoundingClientRect() }))
        .filter(
          ({ text, box }) =>
            text !== "token100" && box.top < mark.bottom - 1 && box.bottom > mark.top + 1,
        )
        .map(({ text }) => text);
    });
    expect(gap).toEqual([]);
    await page.keyboard.press("Escape");
    expect(await page.locator(".rows text[visibility=hidden]").count()).toBe(0);
    await page.context().close();
  });

  it("draws the layer and head that are chosen, and the mean as it came", async () => {
    const { page, told } = await open(attentionHtml(block));
    const paths = (): Promise<(string | null)[]> =>
      page.locator(".cells path").evaluateAll((all) => all.map((path) => path.getAttribute("d")));
    const asItCame = await paths();
    await page.getByRole("button", { name: "b" }).focus();
    expect(await levels(page)).toEqual(["l14", "l8"]); // √0.75 and √0.25 of 16
    const head = page.getByRole("group", { name: "Head" });
    await head.getByLabel("0").check();
    expect(await levels(page)).toEqual(["l11", "l11"]);
    await page.getByRole("group", { name: "Layer" }).getByLabel("0").check();
    expect(await levels(page)).toEqual(["", "l16"]);
    await head.getByLabel("1").check();
    expect((await paths()).at(-1)).toBe("M1 0h1v1H1zM0 1h1v1H0z");
    await page.getByRole("group", { name: "Layer" }).getByLabel("1").check();
    await head.getByLabel("mean").check();
    expect(await paths()).toEqual(asItCame);
    expect(told).toEqual([]);
    await page.context().close();
  });

  it("walks to the left where the text runs to the left", async () => {
    const map = drawnMap({ queries: ["قط", "أسود", "نائم"] });
    const { page } = await open(attentionHtml(map));
    await page.keyboard.press("Tab");
    await page.keyboard.press("ArrowLeft");
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("أسود");
    await page.context().close();
  });

  it("shows hostile tokens as text and runs nothing of them", async () => {
    const map = drawnMap({
      queries: HOSTILE,
      keys: [...HOSTILE].reverse(),
      title: HOSTILE.join(" "),
    });
    const { page, told } = await open(attentionHtml(map), {
      viewport: { width: 400, height: 800 },
    });
    const tokens = page.locator(".queries button");
    for (let at = 0; at < HOSTILE.length; at++) await tokens.nth(at).focus();
    expect(await tokens.first().textContent()).toBe("<script>alert(1)</script>");
    expect(await page.locator("script").count()).toBe(1);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(400);
    expect(told).toEqual([]);
    await page.context().close();
  });

  it.each([360, 500, 900, 1200])(
    "%i pixels wide has its text and picture together, and nothing moves as a token is chosen",
    async (width) => {
      const map = drawnMap({ queries: numbered(12) });
      const { page } = await open(attentionHtml([map, map]), { viewport: { width, height: 700 } });
      const places = (): Promise<{ text: number; picture: number; next: number; all: number }> =>
        page.evaluate(() => {
          const box = (name: string): DOMRect =>
            (document.querySelector(name) as Element).getBoundingClientRect();
          return {
            text: box(".text").bottom + scrollY,
            picture: box(".picture").top + scrollY,
            next: box("#map-1").top + scrollY,
            all: document.documentElement.scrollHeight,
          };
        });
      const before = await places();
      expect(before.picture - before.text).toBeLessThan(2);
      for (const name of ["token3", "token11"]) {
        await page.locator("#map-0").getByRole("button", { name, exact: true }).focus();
        expect(await page.locator(".readout li").count()).toBe(7);
        expect(await places()).toEqual(before);
      }
      await page.context().close();
    },
  );

  it.each([500, 1200])("%i pixels wide begins its scale at the margin", async (width) => {
    const { page } = await open(attentionHtml(alignment), { viewport: { width, height: 700 } });
    const lefts = await page.evaluate(() =>
      ["h1", ".legend path", ".legend text"].map(
        (name) => (document.querySelector(name) as Element).getBoundingClientRect().left,
      ),
    );
    for (const left of lefts) expect(Math.abs(left - (lefts[0] as number))).toBeLessThan(1);
    await page.context().close();
  });

  it("is read without scripts", async () => {
    const { page } = await open(attentionHtml(block), { javaScriptEnabled: false });
    expect(await page.locator("noscript").textContent()).toMatch(/layer 1, the mean of its heads/);
    expect(await page.locator(".heat").boundingBox()).not.toBeNull();
    await page.context().close();
  });

  it.each(["light", "dark"] as const)("has colours of its own in the %s", async (colorScheme) => {
    const { page } = await open(attentionHtml(alignment), { colorScheme });
    await page.getByRole("button", { name: "gato" }).focus();
    const [paper, strong] = await page.evaluate(() =>
      [document.documentElement, document.querySelector(".keys .l15") as Element].map(
        (element) => getComputedStyle(element).backgroundColor,
      ),
    );
    expect([paper, strong]).toEqual(
      colorScheme === "light"
        ? ["rgb(255, 255, 255)", "rgb(38, 54, 116)"]
        : ["rgb(19, 21, 25)", "rgb(173, 228, 247)"],
    );
    await page.context().close();
  });
});

it("heed/inspect draws on a page what it draws in Node", async () => {
  const server = await serve(false);
  const page = await browser.newPage();
  await page.goto(`${server.url}/test/browser/page.html`);
  await page.addScriptTag({
    type: "module",
    content: `import * as inspect from "/dist/inspect.mjs"; window.inspect = inspect;`,
  });
  await page.waitForFunction("window.inspect");
  const drawn = await page.evaluate((map) => {
    const { inspect } = window as unknown as { inspect: typeof inspectOfPage };
    const weights = map.weights.map((layer) =>
      layer.map((head) => head.map((row) => Float32Array.from(row))),
    );
    const whole = { ...map, weights };
    return [
      inspect.attentionText(whole),
      inspect.attentionSvg(whole),
      inspect.attentionHtml(whole),
    ];
  }, asNumbers(alignment));
  expect(drawn).toEqual([
    attentionText(alignment),
    attentionSvg(alignment),
    attentionHtml(alignment),
  ]);
  await page.close();
  server.close();
});

/** Typed arrays do not reach a page. */
function asNumbers({ weights, ...map }: AttentionMap) {
  return {
    ...map,
    weights: weights.map((layer) => layer.map((head) => head.map((row) => Array.from(row)))),
  };
}

describe("an SVG picture", () => {
  it.each([1, 5, 30, 200])("of %i tokens keeps every label inside", async (count) => {
    const queries = numbered(count).map((text, at) => (at % 7 === 0 ? "W".repeat(20) : text));
    for (const map of [drawnMap({ queries }), drawnMap({ queries, heads: 5, title: "Five" })]) {
      const { page, told } = await open(attentionSvg(map), {}, "picture.svg");
      const outside = await page.evaluate(() => {
        const frame = document.documentElement.getBoundingClientRect();
        return [...document.querySelectorAll("text")]
          .filter((text) => {
            const { left, top, right, bottom } = text.getBoundingClientRect();
            return left < 0 || top < 0 || right > frame.width || bottom > frame.height;
          })
          .map((text) => text.textContent);
      });
      expect(outside).toEqual([]);
      expect(told).toEqual([]);
      await page.context().close();
    }
  });

  it.each(["light", "dark"] as const)("has colours of its own in the %s", async (colorScheme) => {
    const { page } = await open(attentionSvg(alignment), { colorScheme }, "picture.svg");
    const fills = await page.evaluate(() =>
      [".paper", ".l15"].map(
        (name) => getComputedStyle(document.querySelector(name) as Element).fill,
      ),
    );
    expect(fills).toEqual(
      colorScheme === "light"
        ? ["rgb(255, 255, 255)", "rgb(38, 54, 116)"]
        : ["rgb(19, 21, 25)", "rgb(173, 228, 247)"],
    );
    await page.context().close();
  });
});

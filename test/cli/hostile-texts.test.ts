/** Texts that want to be markup, or to rule a terminal, through every command that draws. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { HOSTILE } from "../inspect/maps.js";
import { all, parseHtml, parseXml } from "../inspect/markup.js";
import { senseModel } from "../support/sense-model.js";
import { heed, temporaryFolder } from "./run.js";
import { writeSmallAnswerer, writeSmallModel, writeSmallSummarizer } from "./small-model.js";

const folder = temporaryFolder();
const path = (name: string): string => join(folder, name);

beforeAll(async () => {
  await writeSmallModel(path("translate"));
  await writeSmallAnswerer(path("answer"));
  await writeSmallSummarizer(path("summarize"));
  mkdirSync(path("disambiguate"));
  for (const [name, bytes] of Object.entries(senseModel()))
    writeFileSync(join(path("disambiguate"), name), bytes);
});

/** Arguments can hold no zero bytes. */
const text = HOSTILE.join(" ")
  .replaceAll("\0", "")
  .replaceAll(/[\r\n]/g, " ");

const COMMANDS: Record<string, readonly string[]> = {
  translate: ["--beam", "1", text.slice(0, 400)],
  summarize: ["--beam", "1", text],
  answer: ["--question", `What? ${text.slice(0, 300)}`, "--context", text],
  disambiguate: ["--word", "bank", `money bank water ${text} bank`],
};

describe.each(Object.keys(COMMANDS))("heed %s", (command) => {
  test.each([["--grid"], ["--json"]])(
    "stays text in what it prints with %s and draws",
    async (how) => {
      const [svg, html] = [path(`${command}.svg`), path(`${command}.html`)];
      const drawn = ["--svg", svg, "--html", html];
      const given = COMMANDS[command] as readonly string[];
      // heed() refuses control characters in what is printed, but for line breaks.
      const found = await heed([command, "--model", path(command), how, ...drawn, ...given]);
      expect(found).toMatchObject({ code: 0, stderr: "" });
      expect(found.stdout).not.toMatch(/[\p{Bidi_Control}\u2028\u2029]/u);
      if (how === "--json") for (const line of found.stdout.trimEnd().split("\n")) JSON.parse(line);
      const picture = parseXml(readFileSync(svg, "utf8"));
      for (const tag of ["script", "img", "foreignObject", "a"])
        expect(all(picture, tag)).toEqual([]);
      const page = parseHtml(readFileSync(html, "utf8"));
      expect(all(page, "script")).toHaveLength(1);
      expect(all(page, "img")).toEqual([]);
      for (const file of [svg, html])
        expect(readFileSync(file, "utf8")).not.toMatch(
          // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not come
          /[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufffe\uffff]/,
        );
    },
  );
});

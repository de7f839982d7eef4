import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import { beforeAll, describe, expect, test } from "vitest";
import { Album, drawingOptions } from "../../src/cli/drawing.js";
import { drawnMap, numbered } from "../inspect/maps.js";
import { all, parseHtml, parseXml, textOf } from "../inspect/markup.js";
import { heed, temporaryFolder } from "./run.js";
import { writeSmallModel } from "./small-model.js";

const folder = temporaryFolder();
const small = join(folder, "small");
const file = (name: string): string => join(folder, name);
const read = (name: string): string => readFileSync(file(name), "utf8");
const translate = (...args: string[]) => ["translate", "--model", small, "--beam", "1", ...args];

beforeAll(() => writeSmallModel(small));

describe("heed translate --svg --html", () => {
  test.each([[[]], [["--plain"]], [["--grid"]], [["--json"]]])(
    "prints with %j what it prints without, and writes both files",
    async (mode) => {
      const sentences = ["The black cat sleeps.", "A dog! A cat."];
      const plain = await heed(translate(...mode, ...sentences));
      const files = ["--svg", file("a.svg"), "--html", file("a.html")];
      const drawn = await heed(translate(...mode, ...files, ...sentences));
      expect(drawn).toEqual(plain);
      expect(drawn).toMatchObject({ code: 0, stderr: "" });
      const page = parseHtml(read("a.html"));
      expect(all(page, "section")).toHaveLength(3);
      const shown = all(page, "main").map(textOf).join();
      for (const word of ["black", "sleeps", "dog"]) expect(shown).toContain(word);
      expect(all(parseXml(read("a.svg")), "text").map(textOf)).toContain("sleeps");
    },
  );

  test("keeps the lines of standard input for one report", async () => {
    const input = "The cat.\n\nThe dog.\n<script>alert(1)</script> \u202e\0\n";
    const { code, stdout } = await heed(translate("--html", file("b.html")), input);
    expect(code).toBe(0);
    expect(stdout.split("\n")).toHaveLength(5);
    const page = parseHtml(read("b.html"));
    expect(all(page, "section").length).toBeGreaterThanOrEqual(3);
    expect(all(page, "script")).toHaveLength(1);
  });

  test("writes a report and a picture of nothing for no sentence", async () => {
    const found = await heed(translate("--html", file("c.html"), "--svg", file("c.svg"), ""));
    expect(found).toMatchObject({ code: 0, stdout: "\n", stderr: "" });
    expect(textOf(parseHtml(read("c.html")))).toContain("There is nothing to show.");
    expect(all(parseXml(read("c.svg")), "text")).toEqual([]);
  });

  test("replaces a file wholly, and leaves nothing beside it", async () => {
    mkdirSync(file("d"));
    writeFileSync(file("d/old.html"), "old");
    await heed(translate("--html", file("d/old.html"), "The cat."));
    expect(read("d/old.html")).toMatch(/^<!doctype html>/);
    expect(readdirSync(file("d"))).toEqual(["old.html"]);
  });

  test("says that a file cannot be written before it does any work", async () => {
    const { code, stdout, stderr } = await heed(translate("--svg", file("none/a.svg"), "The cat."));
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^heed: .*none\/a\.svg: the file must be writable, got ENOENT[^\n]*\n$/);
  });
});

/** One file: as it is, with steps in its path, by a link to its folder, by a link to it. */
const NAMES = ["t/a.svg", "./t/../t/a.svg", "folder-link/a.svg", "file-link"];

describe("Album.open()", () => {
  beforeAll(() => {
    mkdirSync(file("t"));
    writeFileSync(file("t/a.svg"), "old");
    symlinkSync(file("t"), file("folder-link"));
    symlinkSync(file("t/a.svg"), file("file-link"));
  });

  test("refuses one file for two options, by whatever names", async () => {
    const same = NAMES.map((name) => `${folder}/${name}`);
    for (const svg of same)
      for (const html of same) {
        await expect(Album.open({ svg, html })).rejects.toThrow(
          `draw: --svg and --html must be two files, got ${html} twice`,
        );
        await expect(Album.open({ html }, { "--plot": svg })).rejects.toThrow(
          `draw: --html and --plot must be two files, got ${svg} twice`,
        );
      }
    const [svg, html] = [file("folder-link/new.svg"), file("t/new.svg")];
    await expect(Album.open({ svg, html })).rejects.toThrow("must be two files");
    await Album.open({ svg, html: file("t/new.html") });
    expect(readdirSync(file("t"))).toEqual(["a.svg"]);
    expect(read("t/a.svg")).toBe("old");
  });
});

describe("drawingOptions()", () => {
  test("adds --grid, --svg and --html", () => {
    const command = drawingOptions(new Command());
    command.parse(["--grid", "--svg", "a", "--html", "b"], { from: "user" });
    expect(command.opts()).toEqual({ grid: true, svg: "a", html: "b" });
  });
});

test("an Album refuses more weights than a report can show, and keeps none for nothing", async () => {
  const map = drawnMap({ queries: numbered(1000) });
  const album = await Album.open({ svg: file("many.svg") });
  for (let i = 0; i < 16; i++) await album.add(map);
  await expect(album.add(map)).rejects.toThrow(
    "draw: --svg and --html must have at most 16777216 weights to show, got more. Give less text at a time",
  );
  const none = await Album.open({});
  for (let i = 0; i < 17; i++) await none.add(map);
  await none.write("none");
});

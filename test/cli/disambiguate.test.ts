import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import type { Disambiguation } from "../../src/tasks/disambiguate.js";
import { all, parseHtml, parseXml, textOf } from "../inspect/markup.js";
import { SENSE_CONFIG, senseModel } from "../support/sense-model.js";
import { heed, start, temporaryFolder } from "./run.js";

const folder = temporaryFolder();
const small = join(folder, "small");
const ask = (...args: string[]): string[] => ["disambiguate", "--model", small, ...args];
const bank = (...args: string[]): string[] => ask("--word", "bank", ...args);

interface JsonLine {
  readonly sentence: string;
  readonly occurrences: Disambiguation[];
}

function linesOf(stdout: string): JsonLine[] {
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

beforeAll(() => {
  mkdirSync(small);
  for (const [name, bytes] of Object.entries(senseModel())) writeFileSync(join(small, name), bytes);
});

describe("heed disambiguate", () => {
  test("tells the sense, where it looked, and what is like it", async () => {
    const found = await heed(bank("A loan by the Bank.", "--nearest", "1"));
    expect(found).toEqual({
      code: 0,
      signal: null,
      stderr: "",
      stdout: `A loan by the Bank.
  Bank: money 0.88, river 0.12
  looked at: loan 0.73, the 0.27
  like (money, 1.00): The bank gave a loan.
`,
    });
  });

  test("says when a use is like no labelled sentence", async () => {
    const strict = join(folder, "strict");
    mkdirSync(strict);
    const files = senseModel({ ...SENSE_CONFIG, familiarity: 0.9 });
    for (const [name, bytes] of Object.entries(files)) writeFileSync(join(strict, name), bytes);
    const asked = ["--word", "bank", "--nearest", "0", "A bank.", "--model", strict];
    const { code, stdout } = await heed(["disambiguate", ...asked]);
    expect(code).toBe(0);
    expect(stdout).toBe(`A bank.
  bank: money 0.50, river 0.50
  like no labelled sentence: perhaps another sense than these
`);
    const { stdout: json } = await heed(["disambiguate", "--json", ...asked]);
    expect(linesOf(json)[0]?.occurrences[0]?.familiar).toBe(false);
  });

  test("answers for each occurrence, and for each sentence", async () => {
    const { code, stdout } = await heed(
      bank("--nearest", "0", "the river bank, far from the old banks of money", "bank"),
    );
    expect(code).toBe(0);
    // river [0, 2] and money [2, 0] have scores of 2, "the" has 0; the others are not known.
    expect(stdout).toBe(`the river bank, far from the old banks of money
  bank: river 0.88, money 0.12
  looked at: river 0.79, the 0.11, the 0.11
  banks: money 0.88, river 0.12
  looked at: money 0.88, the 0.12
bank
  bank: money 0.50, river 0.50
`);
  });

  test("cuts long labelled sentences around the word", async () => {
    const other = join(folder, "long");
    const example = `${"so on and ".repeat(8)}the bank ${"and so forth ".repeat(8)}`.trim();
    const [first, tip] = SENSE_CONFIG.words;
    const senses = [{ name: "money", examples: [example] }, first.senses[1]];
    const config = { ...SENSE_CONFIG, words: [{ ...first, senses }, tip] };
    mkdirSync(other);
    for (const [name, bytes] of Object.entries(senseModel(config)))
      writeFileSync(join(other, name), bytes);
    const args = ["disambiguate", "--model", other, "--word", "bank", "bank money"];
    const { stdout } = await heed([...args, "--nearest", "1"]);
    expect(stdout).toContain(
      "): … so on and so on and so on and the bank and so forth and so forth and so …\n",
    );
  });

  test("writes one JSON object a line with --json", async () => {
    const input = "The bank\u001b[31m of the river\n\nno such word\nBANKS, banks\u202e\n";
    const { code, stdout } = await heed(bank("--json"), input);
    expect(code).toBe(0);
    const lines = linesOf(stdout);
    expect(lines.map(({ occurrences }) => occurrences.length)).toEqual([1, 0, 0, 2]);
    expect(lines[0]?.sentence).toBe("The bank\u001b[31m of the river");
    const [use] = lines[0]?.occurrences ?? [];
    expect(use).toMatchObject({ word: "bank", sense: "river", start: 4, end: 8 });
    expect(use?.senses).toHaveLength(2);
    expect(use?.nearest).toHaveLength(3);
    expect(use?.context).toHaveLength(use?.weights.length ?? -1);
    expect(use?.embedding).toHaveLength(2);
    const sum = [...(use?.weights ?? [])].reduce((a, b) => a + b, 0);
    expect(sum).toBeCloseTo(1, 6);
  });

  test("reads a file, and answers what is typed at once", async () => {
    const path = join(folder, "sentences.txt");
    writeFileSync(path, "the river bank\r\nno word\r\nbank money");
    const { code, stdout } = await heed(bank("--file", path, "--nearest", "0"));
    expect(code).toBe(0);
    expect(stdout.split("\n").filter((line) => !line.startsWith("  "))).toEqual([
      "the river bank",
      "no word",
      "bank money",
      "",
    ]);
    const { child, outcome, seen } = start(...bank());
    child.stdin?.write("the river bank\n");
    await seen("stdout", "river 0.88");
    child.stdin?.end();
    expect((await outcome).code).toBe(0);
  });

  test("stops at Ctrl-C", async () => {
    const { child, outcome, seen } = start(...bank());
    child.stdin?.write("bank\n");
    await seen("stdout", "bank: ");
    child.kill("SIGINT");
    expect(await outcome).toMatchObject({ code: 130, stderr: "" });
  });

  test("draws where the word looked", async () => {
    const [svg, html] = [join(folder, "a.svg"), join(folder, "a.html")];
    const plain = await heed(bank("the river bank <b>", "bank money"));
    const drawn = await heed(
      bank("--svg", svg, "--html", html, "the river bank <b>", "bank money"),
    );
    expect(drawn).toEqual(plain);
    expect(all(parseXml(readFileSync(svg, "utf8")), "text").map(textOf)).toContain("river");
    const page = parseHtml(readFileSync(html, "utf8"));
    expect(all(page, "section")).toHaveLength(2);
    expect(textOf(page)).toContain("the river bank <b>");
    const { code, stdout } = await heed(bank("--grid", "--nearest", "0", "the river bank"));
    expect(code).toBe(0);
    expect(stdout).toMatch(/\n +the {2}river\nbank/);
  });

  test.each<[string, string[], number, RegExp]>([
    ["a word that is not known", ask("--word", "dog", "the dog"), 1, /one of bank, tip, got "dog"/],
    [
      "a sentence without it",
      bank("a\u0007 bankrupt"),
      1,
      /must hold "bank" or "banks", got "a\\u0007/,
    ],
    ["no word", ask("bank"), 2, /required option '--word <word>' not specified/],
    ["sentences twice", bank("--file", "x", "bank"), 2, /got both/],
    ["a missing file", bank("--file", join(folder, "none")), 1, /must be readable/],
    ["a folder without a model", [...bank("bank"), "--model", folder], 1, /must hold config\.json/],
    [
      "a model of another task",
      [...bank("bank"), "--model", "models/translate-en-es"],
      1,
      /for "disambiguate"/,
    ],
    ["a number out of range", bank("--nearest", "101", "bank"), 2, /from 0 to 100/],
    ["two forms of output", bank("--json", "--grid", "bank"), 2, /cannot be used with/],
  ])("refuses %s", async (_, args, code, message) => {
    const found = await heed(args);
    expect(found.code).toBe(code);
    expect(found.stdout).toBe("");
    expect(found.stderr).toMatch(message);
  });

  test("refuses bytes that are no text", async () => {
    const found = await heed(bank(), Uint8Array.of(0xff, 0xfe, 10));
    expect(found.code).toBe(1);
    expect(found.stderr).toContain("must be UTF-8");
  });
});

describe("heed train disambiguate", () => {
  const data = join(folder, "data");
  const text = join(folder, "text.tsv");
  const out = join(folder, "trained");
  const train = (...more: string[]): string[] => [
    ...["train", "disambiguate", "--data", data, "--out", out, "--text", text],
    ...["--tokenizer", join(small, "tokenizer.json"), "--embedding", "4", "--batch", "16"],
    ...["--threads", "1", "--epochs", "6", "--rate", "0.05", "--patience", "9", ...more],
  ];

  beforeAll(() => {
    mkdirSync(data);
    const rows = Array.from({ length: 48 }, (_, index) => {
      const [sense, words] =
        index % 2 ? ["river", "water of the river"] : ["money", "loan of money"];
      const sentence = `The bank ${index}: a ${words}`;
      return `${sense}\t${index < 8 ? "test" : "train"}\tx\t4\t${sentence}\n`;
    });
    writeFileSync(
      join(data, "bank.tsv"),
      `sense\tsplit\tsource\tstart\tsentence\n${rows.join("")}`,
    );
    const tips = Array.from({ length: 12 }, (_, index) => {
      const [sense, words] = index % 3 ? ["end", "the river"] : ["gift", "the money"];
      return `tip\t${sense}\tm.1\tdoc${index}\t1\tThe tip ${index} is of ${words}\n`;
    });
    writeFileSync(
      join(data, "homographs.tsv"),
      `lemma\tsense\tnoad_sense\tdocument\ttarget_index\ttokens\n${tips.join("")}`,
    );
    const lines = Array.from({ length: 60 }, (_, index) =>
      index % 2 ? `river water river number ${index}\tagua` : `a loan of money ${index}\tdinero`,
    );
    writeFileSync(text, `${lines.join("\n")}\nThe bank 0: a loan of money\n`);
  });

  test("trains a model that disambiguate takes, and evaluates", async () => {
    const found = await heed(train());
    expect(found).toMatchObject({ code: 0, stdout: "" });
    const losses = [...found.stderr.matchAll(/validation (\d+\.\d+)/g)].map(([, x]) => Number(x));
    expect(losses).toHaveLength(6);
    expect(Math.min(...losses)).toBeLessThan(0.3);
    const config = JSON.parse(readFileSync(join(out, "config.json"), "utf8"));
    expect(config).toMatchObject({ task: "disambiguate", window: 20, padding: 0 });
    const sentences = JSON.stringify(config.words);
    expect(sentences).toContain("The bank 9: a water of the river");
    for (const tested of ["The bank 0", "The bank 7"]) expect(sentences).not.toContain(tested);

    const args = ["disambiguate", "--model", out];
    const answered = await heed([...args, "--word", "banks", "--json", "Banks of water, a river"]);
    expect(linesOf(answered.stdout)[0]?.occurrences[0]?.sense).toBe("river");
    const evaluated = await heed([...args, "--evaluate", data]);
    expect(evaluated).toMatchObject({ code: 0, stderr: "" });
    expect(evaluated.stdout).toMatch(
      /^word +sentences +right +most frequent sense\nbank +8 +1\.000 +0\.500\ntip +\d +\d\.\d{3} +\d\.\d{3}\nmean over words +\d\.\d{3} +\d\.\d{3}\nall sentences +\d\.\d{3} +\d\.\d{3}\n$/,
    );
    const asJson = await heed([...args, "--evaluate", data, "--json", "--part", "validation"]);
    expect(JSON.parse(asJson.stdout).words[0]).toEqual({
      word: "bank",
      sentences: 4,
      right: 4,
      frequent: 2,
    });
  });

  test("goes on from its checkpoint, and refuses that of other text", async () => {
    const again = await heed(train());
    expect(again.code).toBe(0);
    expect(again.stderr).toMatch(/going on after \d+ steps/);
    writeFileSync(text, "other text\n");
    const other = await heed(train());
    expect(other.code).toBe(1);
    expect(other.stderr).toMatch(/a checkpoint must be of the same run/);
  });

  test.each<[string, string[], RegExp]>([
    [
      "a folder without the tables",
      ["--data", "/nowhere"],
      /there must be a file \/nowhere\/bank\.tsv, got none/,
    ],
    [
      "a text that is not there",
      ["--text", "/nowhere/text.txt"],
      /there must be a file \/nowhere\/text\.txt, got none/,
    ],
    [
      "a tokenizer that is not there",
      ["--tokenizer", "/nowhere.json"],
      /there must be a tokenizer/,
    ],
  ])("refuses %s", async (_, more, message) => {
    const found = await heed([...train("--out", join(folder, "other")), ...more]);
    expect(found.code).toBe(1);
    expect(found.stderr).toMatch(message);
  });
});

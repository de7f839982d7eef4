import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

const README = readFileSync("README.md", "utf8");

describe("README.md", () => {
  test("shows what its first command prints", () => {
    const sentence = README.match(/npm run translate -- "([^"]+)"/)?.[1] ?? "";
    const printed = execFileSync("node", ["dist/cli.mjs", "translate", "--grid", sentence]);
    expect(README).toContain(`\`\`\`\n${printed.toString().trimEnd()}\n\`\`\`\n`);
  });

  test("has links that lead somewhere", () => {
    const links = [...README.matchAll(/\]\(([^)#]+)\)/g)].map(([, link]) => link as string);
    expect(links.length).toBeGreaterThan(3);
    expect(links.filter((link) => !/^https?:/.test(link) && !existsSync(link))).toEqual([]);
  });
});

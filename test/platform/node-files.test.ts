import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { constants, openSync, unlinkSync } from "node:fs";
import {
  chmod,
  lstat,
  mkdtemp,
  open,
  readFile as read,
  readdir,
  rename,
  rm,
  stat,
  symlink,
  unlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { transformWithOxc } from "vite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  expectWritable,
  type FileCalls,
  folderSource,
  makeFolder,
  readFile,
  replaceFile,
  replaceFiles,
} from "../../src/platform/node-files.js";
import { formatErrorAsync } from "../io/format-error.js";

let folder: string;
let path: string;
const OLD = new Uint8Array(1000).fill(1);
const NEW = new Uint8Array(200_000).fill(2);

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "heed-files-"));
  path = join(folder, "model.safetensors");
  await writeFile(path, OLD);
});

afterEach(async () => {
  await chmod(folder, 0o755);
  await rm(folder, { recursive: true });
});

/** The old file whole and nothing beside it. */
async function expectUnchanged(): Promise<void> {
  expect(new Uint8Array(await read(path))).toEqual(OLD);
  expect(await readdir(folder)).toEqual(["model.safetensors"]);
}

const POSIX = process.platform !== "win32";

describe("replaceFiles()", () => {
  test("replaces all or none: the disk fills up in the middle of the second", async () => {
    const second = join(folder, "config.json");
    const third = join(folder, "tokenizer.json");
    await writeFile(second, OLD);
    let opened = 0;
    const calls: FileCalls = {
      open: (async (...args: Parameters<typeof open>) => {
        if (++opened === 2) throw new Error("ENOSPC: no space left");
        return open(...args);
      }) as typeof open,
      rename,
      unlink,
    };
    const files = new Map([path, second, third].map((name) => [name, NEW]));
    const error = await formatErrorAsync(() => replaceFiles(files, calls));
    expect(error.message).toBe(
      `${second}: the file must be writable, got ENOSPC: no space left. The old file is unchanged`,
    );
    for (const name of [path, second]) expect(new Uint8Array(await read(name))).toEqual(OLD);
    expect((await readdir(folder)).sort()).toEqual(["config.json", "model.safetensors"]);
    await replaceFiles(files);
    for (const name of files.keys()) expect(new Uint8Array(await read(name))).toEqual(NEW);
    expect((await readdir(folder)).length).toBe(3);
  });
});

describe("makeFolder()", () => {
  test("makes a folder and those around it, and is content with one that is there", async () => {
    const deep = join(folder, "a", "b", "c");
    await Promise.all([makeFolder(deep), makeFolder(deep)]);
    await makeFolder(deep);
    expect((await stat(deep)).isDirectory()).toBe(true);
  });

  test("says what is in the way", async () => {
    const blocked = join(path, "a");
    const error = await formatErrorAsync(() => makeFolder(blocked));
    expect(error.code).toBe("FILE_WRITE");
    expect(error.message).toMatch(/a: the folder must be there or be made, got ENOTDIR/);
    expect((await formatErrorAsync(() => makeFolder(path))).message).toContain(
      "which is no folder",
    );
  });
});

describe("replaceFile()", () => {
  test("writes a new file and replaces an old one", async () => {
    await replaceFile(path, NEW);
    expect(new Uint8Array(await read(path))).toEqual(NEW);
    await replaceFile(join(folder, "new"), OLD);
    expect((await readdir(folder)).sort()).toEqual(["model.safetensors", "new"]);
  });

  test("lets the old file survive every call that fails", async () => {
    const failing = (at: number): { calls: FileCalls; made: () => number } => {
      let made = 0;
      const step = async <T>(call: () => Promise<T>): Promise<T> => {
        if (made++ === at)
          throw Object.assign(new Error("ENOSPC: no space left"), { code: "ENOSPC" });
        return call();
      };
      const calls = {
        open: (async (...args: Parameters<typeof open>) => {
          const file = await step(() => open(...args));
          const { writeFile, sync } = file;
          file.writeFile = (...data) => step(() => writeFile.apply(file, data));
          file.sync = () => step(() => sync.apply(file));
          return file;
        }) as typeof open,
        rename: (from: Parameters<typeof rename>[0], to: Parameters<typeof rename>[1]) =>
          step(() => rename(from, to)),
        unlink,
      };
      return { calls, made: () => made };
    };
    // 0 open, 1 write, 2 sync, 3 rename; after that the new file stands.
    for (let at = 0; at < 4; at++) {
      const { calls, made } = failing(at);
      const error = await formatErrorAsync(() => replaceFile(path, NEW, calls));
      expect(error.code).toBe("FILE_WRITE");
      expect(error.message).toBe(
        `${path}: the file must be writable, got ENOSPC: no space left. The old file is unchanged`,
      );
      expect(made()).toBe(at + 1);
      await expectUnchanged();
    }
    await replaceFile(path, NEW, failing(4).calls);
    expect(new Uint8Array(await read(path))).toEqual(NEW);
  });

  test.runIf(POSIX)("lets the old file survive where files may not grow", async () => {
    // A limit of 8 blocks of 512 bytes gives EFBIG in the middle of the write.
    const { code, output } = await runChild(
      `await replaceFile(${JSON.stringify(path)}, new Uint8Array(200_000)).catch((e) => console.log(e.code, e.message));`,
      "ulimit -f 8; ",
    );
    expect(output).toMatch(/^FILE_WRITE .*EFBIG/);
    expect(code).toBe(0);
    await expectUnchanged();
  });

  test.runIf(POSIX)("lets the old file survive a read-only folder", async () => {
    await chmod(folder, 0o555);
    // Root may write anywhere: it becomes nobody for the attempt.
    const root = process.getuid?.() === 0;
    if (root) process.seteuid?.(65_534);
    try {
      expect((await formatErrorAsync(() => replaceFile(path, NEW))).code).toBe("FILE_WRITE");
    } finally {
      if (root) process.seteuid?.(0);
    }
    await expectUnchanged();
  });

  test("speaks of an old file only where there was one", async () => {
    const missing = join(folder, "none", "x");
    const { code, message } = await formatErrorAsync(() => replaceFile(missing, NEW));
    expect(code).toBe("FILE_WRITE");
    expect(message).toMatch(/none\/x: the file must be writable, got ENOENT: [^.]+\/none\/[^.]*/);
    expect(message).not.toContain("old file");
  });

  test("keeps the permissions of the old file, and a link to it", async () => {
    await chmod(path, 0o600);
    const link = join(folder, "link");
    await symlink(path, link);
    await replaceFile(link, NEW);
    expect((await lstat(link)).isSymbolicLink()).toBe(true);
    expect(new Uint8Array(await read(path))).toEqual(NEW);
    if (POSIX) expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  test.each<[string, (path: string) => Promise<unknown>]>([
    ["replaceFile()", (path) => replaceFile(path, NEW)],
    ["expectWritable()", expectWritable],
  ])("%s refuses what is no file, by whatever name", async (_, write) => {
    const link = join(folder, "link");
    await symlink(folder, link);
    const places = [folder, link, `${folder}/`, `${folder}/.`, "", "."];
    if (POSIX) {
      const pipe = join(folder, "pipe");
      execFileSync("mkfifo", [pipe]);
      // As /dev/stdout is: a link to what has no other name.
      const nameless = openSync(pipe, constants.O_RDWR);
      unlinkSync(pipe);
      await symlink(`/proc/self/fd/${nameless}`, join(folder, "output"));
      execFileSync("mkfifo", [pipe]);
      places.push(pipe, join(folder, "output"));
    }
    for (const place of places) {
      const { code, message } = await formatErrorAsync(() => write(place));
      expect(code).toBe("FILE_WRITE");
      expect(message).toContain("the file must be writable, got ");
    }
    for (const name of ["link", ...(POSIX ? ["pipe", "output"] : [])])
      await unlink(join(folder, name));
    await expectUnchanged();
  });

  test.runIf(POSIX)("leaves one whole file when the process is killed at any time", async () => {
    for (let kill = 0; kill < 8; kill++) {
      const child = await startChild(
        `console.log("go"); for (let i = 0; ; i++) await replaceFile(${JSON.stringify(path)}, new Uint8Array(100_000 + i % 7).fill(i));`,
      );
      await once(child.stdout, "data");
      await new Promise((resolve) => setTimeout(resolve, 3 + kill * 5));
      child.kill("SIGKILL");
      await once(child, "close");
      const bytes = await read(path);
      expect(new Set(bytes).size).toBe(1);
      expect([1000, ...Array.from({ length: 7 }, (_, i) => 100_000 + i)]).toContain(bytes.length);
    }
  });
});

describe("expectWritable()", () => {
  test("leaves everything as it was, and gives one name for all of a file's", async () => {
    const link = join(folder, "link");
    await symlink(folder, link);
    const found = await Promise.all(
      [path, `${folder}/./model.safetensors`, join(link, "model.safetensors")].map(expectWritable),
    );
    expect(new Set(found).size).toBe(1);
    expect(await expectWritable(join(link, "new"))).toBe(await expectWritable(`${folder}/new`));
    await unlink(link);
    await expectUnchanged();
  });

  test.runIf(POSIX)("refuses a folder that is missing, read-only, or a file", async () => {
    await chmod(folder, 0o555);
    const root = process.getuid?.() === 0;
    if (root) process.seteuid?.(65_534);
    try {
      for (const name of ["none/x", "new", "model.safetensors", "model.safetensors/x"])
        expect((await formatErrorAsync(() => expectWritable(join(folder, name)))).code).toBe(
          "FILE_WRITE",
        );
    } finally {
      if (root) process.seteuid?.(0);
    }
    await expectUnchanged();
  });
});

describe("folderSource()", () => {
  test("reads files, and gives undefined for those that are missing", async () => {
    const source = folderSource(folder);
    expect(source.name).toBe(folder);
    expect(await source.read("model.safetensors", 1000)).toEqual(Buffer.from(OLD));
    expect(await source.read("config.json", 1000)).toBeUndefined();
    expect(await folderSource(join(folder, "none")).read("config.json", 1000)).toBeUndefined();
    expect(await folderSource(path).read("config.json", 1000)).toBeUndefined();
  });

  test("refuses a file above the limit before it reads it", async () => {
    const error = await formatErrorAsync(() => folderSource(folder).read("model.safetensors", 999));
    expect(error.code).toBe("MODEL_FILE_SIZE");
  });

  test("refuses folders and devices", async () => {
    for (const name of POSIX ? [folder, "/dev/zero"] : [folder])
      expect((await formatErrorAsync(() => readFile(name, 10))).code).toBe("FILE_READ");
  });
});

/** A Node process that runs `program` with replaceFile in scope. */
async function startChild(program: string, shell = "") {
  const load = async (name: string, imports: Record<string, string> = {}): Promise<string> => {
    const url = new URL(`../../src/${name}`, import.meta.url);
    let { code } = await transformWithOxc(await read(url, "utf8"), url.pathname);
    for (const [from, to] of Object.entries(imports)) code = code.replace(from, to);
    return `data:text/javascript,${encodeURIComponent(code)}`;
  };
  const files = await load("platform/node-files.ts", { "../errors.js": await load("errors.ts") });
  const text = `import { replaceFile } from ${JSON.stringify(files)};\n${program}`;
  return spawn(
    "sh",
    ["-c", `${shell}exec "$0" --input-type=module -e "$1"`, process.execPath, text],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
}

async function runChild(program: string, shell: string): Promise<{ code: number; output: string }> {
  const child = await startChild(program, shell);
  let output = "";
  child.stdout.on("data", (data) => {
    output += data;
  });
  const [code] = await once(child, "close");
  return { code, output };
}

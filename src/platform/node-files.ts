import { randomBytes } from "node:crypto";
import {
  mkdir,
  open,
  readFile as readWhole,
  realpath,
  rename,
  stat,
  unlink,
} from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { FormatError } from "../errors.js";

/** The calls to the file system that a save makes. */
export interface FileCalls {
  readonly open: typeof open;
  readonly rename: typeof rename;
  readonly unlink: typeof unlink;
}

/**
 * Replaces a file wholly or not at all: see replaceFiles().
 *
 * @throws {FormatError} FILE_WRITE, naming the file and the system's reason
 */
export async function replaceFile(
  path: string,
  bytes: Uint8Array,
  calls?: FileCalls,
): Promise<void> {
  await replaceFiles(new Map([[path, bytes]]), calls);
}

/**
 * Replaces files that belong together, each wholly or not at all.
 *
 * The bytes go to temporary files in the same folders, down to the disk; only when all of them are
 * there do they take their names. When the disk is full, read-only or gone, the old files are as they
 * were and nothing is left beside them. A new file has the permissions of the old one; of a link, the
 * file it leads to is replaced.
 *
 * @throws {FormatError} FILE_WRITE, naming the file and the system's reason
 */
export async function replaceFiles(
  files: ReadonlyMap<string, Uint8Array>,
  calls: FileCalls = { open, rename, unlink },
): Promise<void> {
  const made: { path: string; temporary: string; target: string }[] = [];
  let [at, old, named] = ["", false, 0];
  try {
    for (const [path, bytes] of files) {
      const { target, mode } = await findTarget(path);
      const temporary = beside(target);
      [at, old] = [path, mode !== undefined];
      made.push({ path, temporary, target });
      await writeWhole(temporary, bytes, mode, calls);
    }
    for (const { path, temporary, target } of made) {
      at = path;
      await calls.rename(temporary, target);
      named++;
    }
  } catch (error) {
    for (const { temporary } of made.slice(named)) await calls.unlink(temporary).catch(() => {});
    if (error instanceof FormatError) throw error;
    const hint = old && named === 0 ? "The old file is unchanged" : "";
    throw fault("FILE_WRITE", at, "must be writable", error, hint);
  }
  for (const folder of new Set(made.map(({ target }) => dirname(target))))
    await syncFolder(folder, calls);
}

/**
 * Makes a folder and those it lies in, as far as they are not there.
 *
 * @throws {FormatError} FILE_WRITE, naming the folder and the system's reason
 */
export async function makeFolder(path: string): Promise<void> {
  const parts = [resolve(path)];
  try {
    // Not by mkdir's own recursion, which goes round for ever where nothing can be made.
    while (!(await isFolder(parts[0] as string))) parts.unshift(dirname(parts[0] as string));
    for (const part of parts.slice(1))
      await mkdir(part).catch(async (error) => {
        if (!(await isFolder(part))) throw error;
      });
  } catch (error) {
    throw new FormatError(
      "FILE_WRITE",
      `${path}: the folder must be there or be made, got ${(error as Error).message}`,
    );
  }
}

/** @throws it is something else */
async function isFolder(path: string): Promise<boolean> {
  try {
    if ((await stat(path)).isDirectory()) return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
  throw new Error(`${path}, which is no folder`);
}

/**
 * Finds out whether replaceFile() could write there, before the work whose result is written.
 *
 * @returns where the file is or will be, the same for all its names
 * @throws {FormatError} FILE_WRITE
 */
export async function expectWritable(path: string): Promise<string> {
  const { target } = await findTarget(path);
  const temporary = beside(target);
  try {
    await (await open(temporary, "wx")).close();
    await unlink(temporary);
    return join(await realpath(dirname(target)), basename(target));
  } catch (error) {
    throw fault("FILE_WRITE", path, "must be writable", error);
  }
}

/** A folder as a source of files: a model's. Names are taken as they are: they must be our own. */
export function folderSource(folder: string): {
  readonly name: string;
  read(file: string, maxBytes: number): Promise<Uint8Array | undefined>;
} {
  return { name: folder, read: (file, maxBytes) => readFile(join(folder, file), maxBytes) };
}

/**
 * The bytes of a file, or undefined when there is none.
 *
 * @throws {FormatError} FILE_READ; MODEL_FILE_SIZE it is longer than maxBytes
 */
export async function readFile(path: string, maxBytes: number): Promise<Uint8Array | undefined> {
  try {
    // Before it is opened: a pipe or a device might never answer, or never end.
    const found = await stat(path);
    if (!found.isFile()) throw new Error("not a regular file");
    if (found.size > maxBytes)
      throw new FormatError(
        "MODEL_FILE_SIZE",
        `${path}: the file must have at most ${maxBytes} bytes, got ${found.size}`,
      );
    return await readWhole(path);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    if (error instanceof FormatError) throw error;
    throw fault("FILE_READ", path, "must be readable", error);
  }
}

/** Where a path leads, and the permissions of the file there, if there is one. */
async function findTarget(path: string): Promise<{ target: string; mode?: number }> {
  const named = resolve(path);
  try {
    // By the name, since what is behind /dev/stdout may have none; a device would be lost.
    const found = await stat(named);
    if (!found.isFile()) throw new Error("what is no regular file");
    return { target: await realpath(named), mode: found.mode & 0o777 };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return { target: named };
    throw fault("FILE_WRITE", path, "must be writable", error);
  }
}

/** A name of its own in the same folder. */
function beside(path: string): string {
  const unique = `${process.pid}-${randomBytes(6).toString("hex")}`;
  return join(dirname(path), `.${basename(path)}.${unique}.tmp`);
}

async function writeWhole(
  path: string,
  bytes: Uint8Array,
  mode: number | undefined,
  calls: FileCalls,
): Promise<void> {
  const file = await calls.open(path, "wx", mode);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Makes the new name last through a power cut, where folders can be opened at all. */
async function syncFolder(path: string, calls: FileCalls): Promise<void> {
  const folder = await calls.open(path, "r").catch(() => undefined);
  await folder?.sync().catch(() => {});
  await folder?.close();
}

function fault(code: string, path: string, what: string, cause: unknown, hint = ""): FormatError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  const error = new FormatError(
    code,
    `${path}: the file ${what}, got ${reason}${hint && `. ${hint}`}`,
  );
  error.cause = cause;
  return error;
}

import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Answer, Question } from "./engine.js";

/** Milliseconds that an engine may take for one answer. */
const PATIENCE = 300_000;

export type EngineName = "heed" | "limit" | PeerName;
export type PeerName = (typeof PEERS)[number];
export const PEERS = ["onnxruntime-web", "tfjs-wasm", "pytorch"] as const;

/** An engine in a process of its own, seen from the one that asks. */
export class EngineClient {
  readonly engine: EngineName;
  readonly threads: number;
  version = "";
  readonly #process: ChildProcess;
  #waiting: { resolve(answer: Answer): void; reject(error: Error): void } | null = null;
  #ended: Error | null = null;

  private constructor(engine: EngineName, threads: number) {
    this.engine = engine;
    this.threads = threads;
    const [command, ...args] = commandOf(engine, threads);
    this.#process = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
    this.#process.on("error", (error) => this.#end(`it did not start: ${error.message}`));
    this.#process.on("exit", (code, signal) => this.#end(`it ended with ${signal ?? code}`));
    this.#process.stdin?.on("error", () => {});
    if (this.#process.stdout)
      createInterface({ input: this.#process.stdout }).on("line", (line) => this.#hear(line));
  }

  /** @throws the engine did not start, or its package is not there */
  static async start(engine: EngineName, threads: number): Promise<EngineClient> {
    const client = new EngineClient(engine, threads);
    try {
      client.version = (await client.#answer()).version ?? "";
      return client;
    } catch (error) {
      client.end();
      throw error;
    }
  }

  /** @throws the engine answered with an error, or is gone */
  async ask(question: Question): Promise<Answer> {
    this.#process.stdin?.write(`${JSON.stringify(question)}\n`);
    return this.#answer();
  }

  end(): void {
    this.#process.kill("SIGKILL");
  }

  async #answer(): Promise<Answer> {
    let timer: NodeJS.Timeout | undefined;
    const answer = await new Promise<Answer>((resolve, reject) => {
      if (this.#ended) return reject(this.#ended);
      this.#waiting = { resolve, reject };
      timer = setTimeout(() => {
        this.#end(`it gave no answer for ${PATIENCE / 1000} seconds`);
        this.end();
      }, PATIENCE);
    }).finally(() => clearTimeout(timer));
    if (answer.error !== undefined) throw new Error(`${this.engine}: ${answer.error}`);
    return answer;
  }

  #hear(line: string): void {
    if (!line.startsWith("{") || !this.#waiting) return;
    const { resolve } = this.#waiting;
    this.#waiting = null;
    resolve(JSON.parse(line) as Answer);
  }

  #end(reason: string): void {
    this.#ended ??= new Error(`${this.engine}: ${reason}`);
    this.#waiting?.reject(this.#ended);
    this.#waiting = null;
  }
}

function commandOf(engine: EngineName, threads: number): [string, ...string[]] {
  const file = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
  if (engine === "pytorch")
    return ["python3", file("../thirdparty/train_step.py"), String(threads)];
  // This process's own options let Node read TypeScript.
  const args = [...process.execArgv, file("engine-process.ts"), engine, String(threads)];
  return [process.execPath, ...args];
}

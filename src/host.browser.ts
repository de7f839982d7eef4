/** The worker that holds a page's runtime: it answers the calls of page/protocol.ts. */
import { type Heed, init, StateError } from "./browser-core.js";
import { type FromWorker, packError, type ToWorker } from "./page/protocol.js";
import type { TaskName, Tasks } from "./tasks/load.js";

let heed: Heed | null = null;
let models = 0;
const tasks = new Map<number, Tasks[TaskName]>();
const running = new Map<number, AbortController>();

addEventListener("message", async ({ data }: MessageEvent<ToWorker>) => {
  if (data.call === "abort") {
    running.get(data.id)?.abort();
    return;
  }
  const controller = new AbortController();
  running.set(data.id, controller);
  try {
    const answer = await serve(data, controller.signal);
    send({ kind: "answer", id: data.id, answer });
  } catch (error) {
    send({
      kind: "error",
      id: data.id,
      error: packError(error, heed !== null && heed.lost !== null),
    });
  } finally {
    running.delete(data.id);
  }
});

async function serve(
  request: Exclude<ToWorker, { call: "abort" }>,
  signal: AbortSignal,
): Promise<unknown> {
  switch (request.call) {
    case "init":
      heed = await init(request.ask);
      return heed.info();
    case "info":
      return started().info();
    case "load": {
      const { location, task } = request.ask;
      tasks.set(++models, await started().load(location, task));
      return models;
    }
    case "unload":
      tasks.get(request.ask)?.dispose();
      tasks.delete(request.ask);
      return null;
    case "use": {
      const { model, method, args, options } = request.ask;
      const task = tasks.get(model);
      if (!task) throw new StateError(`${method}: the model must be loaded, got a disposed one`);
      const onPartial = (text: string): void => send({ kind: "partial", id: request.id, text });
      const methods = task as unknown as Record<string, (...args: unknown[]) => unknown>;
      return methods[method]?.(...args, { ...options, onPartial, signal });
    }
  }
}

function started(): Heed {
  if (!heed) throw new StateError("heed: init must come first, got another call");
  return heed;
}

function send(message: FromWorker): void {
  postMessage(message);
}

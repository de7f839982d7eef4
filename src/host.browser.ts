/** The worker that holds a page's runtime: it answers the calls of page/protocol.ts. */
import { type Heed, init, StateError, type Translator } from "./browser-core.js";
import { type FromWorker, packError, type ToWorker } from "./page/protocol.js";

let heed: Heed | null = null;
let models = 0;
const translators = new Map<number, Translator>();
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
      const translator = await started().load(request.ask);
      translators.set(++models, translator);
      return models;
    }
    case "unload":
      translators.get(request.ask)?.dispose();
      translators.delete(request.ask);
      return null;
    case "translate": {
      const { model, texts, beam, lengthPenalty } = request.ask;
      const translator = translators.get(model);
      if (!translator)
        throw new StateError("translate: the model must be loaded, got a disposed one");
      const found = await translator.translateAll(texts, {
        ...(beam !== undefined && { beam }),
        ...(lengthPenalty !== undefined && { lengthPenalty }),
        onPartial: (text) => send({ kind: "partial", id: request.id, text }),
        signal,
      });
      return found.map(({ sentences }) => sentences);
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

/** A worker of the pool on a page: takes one message and serves jobs until shutdown. */
import { workerLoop } from "./kernels/worker-loop.js";
import type { WorkerStart } from "./platform/platform.js";

addEventListener(
  "message",
  (event: MessageEvent<WorkerStart>) => {
    workerLoop(event.data);
    close();
  },
  { once: true },
);

/** A worker of the pool in Node: takes one message and serves jobs until shutdown. */
import * as workerThreads from "node:worker_threads";
import { workerLoop } from "./kernels/worker-loop.js";

workerThreads.parentPort?.once("message", workerLoop);

import type { Bench } from "../harness/bench.js";
import type { Engine, Prepared } from "../harness/engine.js";
import { firstElement, type OnnxVariant, onnxModel } from "./onnx.js";

/** What is used of onnxruntime-web; its own types are only there once it is installed. */
interface OnnxRuntime {
  readonly env: {
    readonly versions: { readonly web?: string };
    readonly wasm: { numThreads: number };
    logLevel: string;
  };
  readonly InferenceSession: {
    create(model: Uint8Array, options: Record<string, unknown>): Promise<Session>;
  };
  readonly Tensor: new (type: "float32", values: Float32Array, shape: readonly number[]) => Value;
}
interface Value {
  readonly data: Float32Array;
}
interface Session {
  run(feeds: Readonly<Record<string, Value>>): Promise<Record<string, Value>>;
  release(): Promise<void>;
}

const PACKAGE: string = "onnxruntime-web";
const OPTIONS = {
  executionProviders: ["wasm"],
  graphOptimizationLevel: "all",
  logSeverityLevel: 3,
};

/** onnxruntime-web with its WebAssembly execution provider, the only one it has for processors. */
export async function start(threads: number): Promise<Engine> {
  const ort = (await import(PACKAGE)) as OnnxRuntime;
  ort.env.wasm.numThreads = threads;
  ort.env.logLevel = "error";
  return {
    version: ort.env.versions.web ?? "",
    async prepare(bench: Bench) {
      const variants = bench.peers?.["onnxruntime-web"]?.() ?? [];
      return Promise.all(variants.map((variant) => prepare(ort, variant)));
    },
  };
}

async function prepare(ort: OnnxRuntime, variant: OnnxVariant): Promise<Prepared> {
  const feeds = Object.fromEntries(
    Object.entries(variant.inputs).map(([name, { values, shape }]) => [
      name,
      new ort.Tensor("float32", values as Float32Array, shape),
    ]),
  );
  const session = await ort.InferenceSession.create(onnxModel(firstElement(variant)), OPTIONS);
  return {
    variant: variant.name,
    run: () => session.run(feeds),
    async values() {
      const whole = await ort.InferenceSession.create(onnxModel(variant), OPTIONS);
      const { y } = await whole.run(feeds);
      const values = (y as Value).data.slice();
      await whole.release();
      return variant.arrange ? variant.arrange(values) : values;
    },
    release: () => session.release(),
  };
}

import type { Runtime } from "../../src/runtime/runtime.js";
import type { Tensor } from "../../src/tensor/tensor.js";

export interface OpInput {
  readonly shape: readonly number[];
  /** Absent: seeded normal values times scale. */
  readonly data?: readonly number[];
  readonly scale?: number;
  readonly dtype?: "f32" | "i32" | "u8";
  /** Check ∂/∂this against finite differences of the reference. */
  readonly grad?: boolean;
}

/** One sample of an op: drives forward, gradient, thread and build checks (catalogue.test.ts). */
export interface OpCase {
  /** The exported name in src/ops/index.ts. */
  readonly op: string;
  /** The end of a true sentence: "with a fully masked row". */
  readonly name: string;
  readonly inputs: Readonly<Record<string, OpInput>>;
  run(tensors: Record<string, Tensor>, runtime: Runtime): Tensor;
  /** Float64, independent of src/. */
  reference(inputs: Record<string, Float64Array>): ArrayLike<number>;
  /** max |Δ| ≤ tolerance · max(1, max |y|); its reason stands beside it. */
  readonly tolerance: number;
  /** ‖Δ‖ / ‖g‖; default 1e-5. */
  readonly gradTolerance?: number;
}

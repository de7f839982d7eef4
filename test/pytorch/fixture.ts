import { readFileSync } from "node:fs";
import { type FileDType, parseSafetensors } from "../../src/io/safetensors.js";
import type { StateValues } from "../../src/nn/module.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { tensor } from "../../src/tensor/create.js";
import type { Tensor, TypedArray } from "../../src/tensor/tensor.js";

export interface FixtureValues extends StateValues {
  readonly values: TypedArray;
}

/** One file of test/fixtures: what PyTorch was given and what it computed. README.md there tells the keys. */
export interface Fixture {
  readonly name: string;
  readonly config: Readonly<Record<string, unknown>>;
  readonly tensors: ReadonlyMap<string, FixtureValues>;
}

/** What heed computes from a fixture, by the fixture's keys. */
export interface Computed {
  /** "output.y", "weights", "loss" … */
  readonly results: Readonly<Record<string, Tensor | ArrayLike<number>>>;
  /** "x" for "dinput.x" … */
  readonly inputs?: Readonly<Record<string, Tensor>>;
  /** "weight" for "grad.weight" … */
  readonly parameters?: ReadonlyMap<string, Tensor>;
}

/** How the fixtures of one kind are computed. */
export interface Parity {
  readonly files: RegExp;
  compute(fixture: Fixture, runtime: Runtime): Computed;
}

export function readFixture(name: string): Fixture {
  const bytes = readFileSync(new URL(`../fixtures/${name}.safetensors`, import.meta.url));
  const { metadata, tensors } = parseSafetensors(new Uint8Array(bytes), name);
  const { config } = JSON.parse(metadata.get("fixture") ?? "{}") as {
    config: Readonly<Record<string, unknown>>;
  };
  const values = new Map<string, FixtureValues>();
  for (const [key, { dtype, shape, data }] of tensors)
    values.set(key, { shape, values: typed(dtype, data.slice().buffer) });
  return { name, config, tensors: values };
}

function typed(dtype: FileDType, bytes: ArrayBuffer): TypedArray {
  if (dtype === "F32") return new Float32Array(bytes);
  if (dtype === "I32") return new Int32Array(bytes);
  if (dtype === "U8") return new Uint8Array(bytes);
  throw new Error(`a fixture must hold F32, I32 or U8, got ${dtype}`);
}

export function valuesOf(fixture: Fixture, key: string): FixtureValues {
  const found = fixture.tensors.get(key);
  if (!found) throw new Error(`${fixture.name}: must hold "${key}", got no such tensor`);
  return found;
}

/** Input x as a tensor; it wants a gradient when the fixture holds one, unless it is a mask. */
export function input(fixture: Fixture, runtime: Runtime, x: string): Tensor {
  const { values, shape } = valuesOf(fixture, `input.${x}`);
  const made = tensor(runtime, values, shape);
  made.requiresGrad = fixture.tensors.has(`dinput.${x}`) && !x.endsWith("mask");
  return made;
}

/** input(), or undefined where the fixture has none. */
export function maybe(fixture: Fixture, runtime: Runtime, x: string): Tensor | undefined {
  return fixture.tensors.has(`input.${x}`) ? input(fixture, runtime, x) : undefined;
}

/** The module's parameters by state_dict name. */
export function stateOf(fixture: Fixture): Map<string, FixtureValues> {
  const prefix = "param.";
  return new Map(
    [...fixture.tensors]
      .filter(([key]) => key.startsWith(prefix))
      .map(([key, values]) => [key.slice(prefix.length), values]),
  );
}

export function numberOf(fixture: Fixture, key: string): number {
  const value = fixture.config[key];
  if (typeof value !== "number")
    throw new Error(
      `${fixture.name}: config.${key} must be a number, got ${JSON.stringify(value)}`,
    );
  return value;
}

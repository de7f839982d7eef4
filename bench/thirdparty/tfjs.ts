/** What the benches use of @tensorflow/tfjs; its own types are only there once it is installed. */
export interface TfTensor {
  dataSync(): Float32Array;
  dispose(): void;
}

type Operand = TfTensor | number;

export interface Tfjs {
  readonly version: Readonly<Record<string, string>>;
  env(): { set(flag: string, value: boolean): void };
  engine(): { startScope(): void; endScope(): void };
  ready(): Promise<void>;
  setBackend(name: string): Promise<boolean>;
  tidy<T>(fn: () => T): T;
  tensor(values: Float32Array, shape: readonly number[]): TfTensor;
  add(a: Operand, b: Operand): TfTensor;
  sub(a: Operand, b: Operand): TfTensor;
  mul(a: Operand, b: Operand): TfTensor;
  matMul(a: TfTensor, b: TfTensor): TfTensor;
  transpose(x: TfTensor, axes: readonly number[]): TfTensor;
  unstack(x: TfTensor): TfTensor[];
  stack(xs: readonly TfTensor[]): TfTensor;
  softmax(x: TfTensor): TfTensor;
  moments(x: TfTensor, axis: number, keep: boolean): { mean: TfTensor; variance: TfTensor };
  rsqrt(x: TfTensor): TfTensor;
  erf(x: TfTensor): TfTensor;
  tanh(x: TfTensor): TfTensor;
  readonly layers: { lstm(options: Readonly<Record<string, unknown>>): TfLayer };
}

export interface TfLayer {
  apply(x: TfTensor): TfTensor;
  setWeights(weights: readonly TfTensor[]): void;
}

export interface TfWasmBackend {
  setWasmPaths(folder: string): void;
  setThreadsCount(threads: number): void;
  getThreadsCount(): number;
}

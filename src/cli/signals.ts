/** A signal that Ctrl-C (or a polite kill) aborts; a second Ctrl-C ends the process at once. */
export function interruptible(): { signal: AbortSignal; release(): void } {
  const controller = new AbortController();
  const abort = (): void => {
    process.stderr.write("\nstopping after this step; once more to stop at once\n");
    controller.abort(new Error("interrupted"));
    release();
  };
  const release = (): void => {
    process.removeListener("SIGINT", abort);
    process.removeListener("SIGTERM", abort);
  };
  process.once("SIGINT", abort);
  process.once("SIGTERM", abort);
  return { signal: controller.signal, release };
}

/**
 * A signal that Ctrl-C (or a polite kill) aborts; a second Ctrl-C ends the process at once.
 *
 * @param notice  told on the first
 */
export function interruptible(notice = ""): { signal: AbortSignal; release(): void } {
  const controller = new AbortController();
  const abort = (): void => {
    if (notice) process.stderr.write(`\n${notice}\n`);
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

/** Milliseconds of processor time that a call takes: the wall clock counts other programs too. */
export function cpuTime(call: () => unknown): number {
  const start = process.cpuUsage();
  call();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

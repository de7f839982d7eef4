import type { Reporter, TestModule } from "vitest/node";

/**
 * Closes a run with its whole count, as the last line: `N passed, N failed`.
 *
 * A file that could not be loaded, a hook that failed and an error outside of tests count as failed.
 */
export default class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    let passed = 0;
    let failed = errors.length;
    for (const module of modules) {
      failed += module.errors().length;
      for (const suite of module.children.allSuites()) failed += suite.errors().length;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === "passed") passed++;
        else if (state !== "skipped") failed++;
      }
    }
    // Other reporters write until the process ends.
    process.once("exit", () => process.stdout.write(`${passed} passed, ${failed} failed\n`));
  }
}

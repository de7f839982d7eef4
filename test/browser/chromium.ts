import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import chromium from "@sparticuz/chromium";
import { type Browser, chromium as playwright } from "playwright-core";
import sirv from "sirv";

// Not the package's own arguments: they switch off web security, and would hide isolation faults.
const ARGUMENTS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** A headless Chromium that came by npm alone. */
export async function launchChromium(): Promise<Browser> {
  const executablePath = await chromium.executablePath();
  return playwright.launch({ executablePath, headless: true, args: ARGUMENTS });
}

/** The project's files over HTTP, with or without the headers that isolate a page. */
export async function serve(isolated: boolean): Promise<{ url: string; close(): void }> {
  const files = sirv(fileURLToPath(new URL("../../", import.meta.url)), {
    dev: true,
    setHeaders(response) {
      if (!isolated) return;
      response.setHeader("Cross-Origin-Opener-Policy", "same-origin");
      response.setHeader("Cross-Origin-Embedder-Policy", "require-corp");
    },
  });
  const server: Server = createServer((request, response) => files(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => void server.close() };
}

// Serves one directory on loopback:   node serve.mjs DIRECTORY [PORT]

import { createReadStream, statSync } from "node:fs";
import { createServer } from "node:http";
import { join, resolve } from "node:path";

const [directory = ".", port = "8765"] = process.argv.slice(2);
const root = resolve(directory);

const server = createServer((request, response) => {
  const { pathname } = new URL(request.url ?? "/", "http://localhost");
  const path = join(root, pathname === "/" ? "index.html" : pathname);
  if (request.method !== "GET" || !path.startsWith(root) || !statSync(path, { throwIfNoEntry: false })?.isFile()) {
    response.writeHead(404).end("not found\n");
    return;
  }
  response.writeHead(200, { "Content-Type": path.endsWith(".html") ? "text/html; charset=utf-8" : "application/octet-stream" });
  createReadStream(path).pipe(response);
});
server.listen(Number(port), "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/`));

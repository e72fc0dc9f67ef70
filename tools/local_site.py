"""Serve a built site on a free port of this machine, the way a static host does."""

import contextlib
import functools
import http.server
import json
import re
import threading
from pathlib import Path

NOT_FOUND = "no/such/page/"  # stands for 404.html, which a host shows under any wrong address


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    prefix = "/"

    def translate_path(self, path):
        return super().translate_path("/" + path.removeprefix(self.prefix))

    def send_error(self, code, message=None, explain=None):
        page = Path(self.directory, "404.html")
        if code != 404 or not page.exists():
            return super().send_error(code, message, explain)
        body = page.read_bytes()
        self.send_response(404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # a browser may close a connection early


@contextlib.contextmanager
def serve(folder: Path):
    """Yield the address of the site's home page."""
    handler = type("SiteHandler", (Handler,), {"prefix": prefix(folder)})
    server = Server(("127.0.0.1", 0), functools.partial(handler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}{handler.prefix}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def prefix(folder: Path) -> str:
    """A site built for example.org/name/ has that path in the links of its 404 page."""
    page = folder / "404.html"
    if not page.exists():
        return "/"
    config = re.search(r'<script id="__config"[^>]*>(.*?)</script>', page.read_text("utf-8"))
    return json.loads(config[1])["base"].rstrip("/") + "/" if config else "/"


def pages(folder: Path) -> list[str]:
    """Addresses of all pages, relative to the home page, which is the empty one."""
    found = sorted(folder.rglob("index.html"))
    addresses = [path.relative_to(folder).as_posix().removesuffix("index.html") for path in found]
    return addresses + [NOT_FOUND] if (folder / "404.html").exists() else addresses

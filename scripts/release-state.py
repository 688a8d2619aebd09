"""Writes the state folder that this version leaves as a fixture: a task of each kind in each state, and all else that is stored.

Usage: release-state.py; DLD_BINARIES names the built programs (.build/debug otherwise). It replaces the folder VERSION in
Tests/TransferStoreTests/Fixtures/releases, where ReleaseTests opens it with every later version. contents.json in it says what
the daemon answered.
"""

import json
import os
import pathlib
import shutil
import ssl
import subprocess
import sys
import tempfile

CHECKOUT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(CHECKOUT / "clients/python/tests"))
import support  # noqa: E402

PASSED, LATER = "2020-01-01T00:00:00Z", "2100-01-01T00:00:00Z"


def serve_securely(folder):
    """Starts a server that wants https alone, and for one path a password. Returns its URL and the path of its certificate."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
         "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-out", certificate, "-keyout", key],
        check=True, capture_output=True)

    class Handler(support.http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(401 if self.path == "/private" else 200)
            self.send_header("Strict-Transport-Security", "max-age=3153600000")
            self.send_header("WWW-Authenticate", 'Basic realm="private"')
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = support.http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    support.threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"https://localhost:{server.server_port}/", str(certificate)


def fill(client, origin, folder):
    """Gives the daemon its tasks and whatever else it stores."""
    source = folder / "source"
    source.write_bytes(b"sent " * 1000)
    origin.serve("/file", b"received " * 1000)
    # A server that has none of these takes PUT alone.
    kinds = {
        "download": lambda name, path: {"url": origin.url(path), "destination": {"path": f"{folder}/{name}"}},
        "upload": lambda name, path: {"kind": "upload", "url": origin.url(path), "source": {"path": str(source)}},
        "data": lambda name, path: {"kind": "data", "url": origin.url(path)},
    }
    client.call("session.open", id="podcasts", configuration={"subscriber": "player", "asks": ["challenge"], "hsts": True})
    client.call("session.open", id="later")
    client.call("session.pause", id="later")
    for kind, spec in kinds.items():
        completed, failed, cancelled, _, _ = [task["id"] for task in client.add(
            spec(f"{kind}-1", "/file"), {**spec(f"{kind}-2", "/missing"), "deadlineAt": PASSED if kind == "upload" else LATER},
            *({**spec(f"{kind}-{number}", "/file"), **more} for number, more in enumerate(
                [{"startPaused": True}, {"startPaused": True, "tags": ["kept"]}, {"earliestBeginAt": LATER}], 3)),
            session="podcasts")]
        client.add({**spec(f"{kind}-6", "/file"), "clientToken": f"token-{kind}"}, session="later")
        client.call("task.cancel", ids=[cancelled])
        client.wait(completed, support.PATIENCE)
        try:
            client.wait(failed, support.PATIENCE)
        except support.dld.TaskError:
            pass
    secure, certificate = serve_securely(folder)
    learning, _ = client.add(
        *({"kind": "data", "url": secure + path, "caFile": certificate} for path in ("", "private")), session="podcasts")
    client.wait(learning["id"], support.PATIENCE)
    support.eventually(lambda: client.call("decision.list")["decisions"], "the question")
    running = client.download(origin.serve("/half", bytes(4 << 20), gated=True), folder / "half")
    support.eventually(lambda: client.get(running)["bytesReceived"] > 0, "the first half")
    client.call("cookies.set", cookies=[{"name": "sid", "value": "1", "domain": "example.org", "expires": LATER}])
    client.call("credentials.set", protectionSpace={"host": "example.org"}, credential={"username": "me", "password": "secret"})
    client.call("settings.set", downloadRateLimit=5000000)
    client.call("events.ack", subscriber="player", sequence=3)


def contents(client):
    """What must be found again. A task that runs is queued when its daemon stops."""
    tasks = [
        {"id": task["id"], "session": task["session"], "kind": task.get("kind", "download"), "url": task["url"],
         "state": "queued" if task["state"] == "running" else task["state"], "tags": task.get("tags", [])}
        for task in client.tasks()
    ]
    return {
        "tasks": sorted(tasks, key=lambda task: task["id"]),
        "sessions": sorted(session["id"] for session in client.call("session.list")["sessions"]),
        "questions": [question["task"] for question in client.call("decision.list")["decisions"]],
        "cookies": [cookie["name"] for cookie in client.call("cookies.list")["cookies"]],
        "credentials": [one["protectionSpace"]["host"] for one in client.call("credentials.list")["credentials"]],
        "hsts": [host["domain"] for host in client.call("hsts.list")["hosts"]],
        "tokens": ["token-data", "token-download", "token-upload"],
        "settings": ["downloadRateLimit"],
        "acknowledged": {"player": 3},
        "uid": os.getuid(),
    }


def main():
    with tempfile.TemporaryDirectory(prefix="dld-release-") as name:
        folder = pathlib.Path(name)
        origin, daemon = support.Origin(), support.Daemon(folder)
        daemon.start()
        try:
            with support.dld.Client(daemon.socket, patience=support.PATIENCE) as client:
                version = client.call("daemon.info")["version"]
                fill(client, origin, folder)
                found = contents(client)
        finally:
            daemon.stop()
            origin.close()
        target = CHECKOUT / "Tests/TransferStoreTests/Fixtures/releases" / version
        shutil.rmtree(target, ignore_errors=True)
        # Not the reserve, which holds no data, nor the cache, which any version may empty.
        shutil.copytree(folder / "state", target, ignore=shutil.ignore_patterns("reserve", "cache", "files"))
        (target / "contents.json").write_text(json.dumps(found, indent=1) + "\n")
        print(f"{target}: {len(found['tasks'])} tasks")


main()

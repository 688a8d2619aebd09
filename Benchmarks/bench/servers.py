"""The servers of the benchmarks: one nginx with a port for each kind of transfer, and the slow server."""
import contextlib
import os
import shutil
import socket
import subprocess
import time

from bench import children
from bench.measure import Failed

CONFIGURATION = """\
{user}worker_processes 1; daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log;
worker_rlimit_nofile 20000;
events {{ worker_connections 16000; }}
http {{
    access_log off; sendfile on; keepalive_requests 10000000; etag on; default_type application/octet-stream;
    open_file_cache max=20000 inactive=600s; open_file_cache_valid 600s;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/unused; fastcgi_temp_path {folder}/unused;
    uwsgi_temp_path {folder}/unused; scgi_temp_path {folder}/unused;
    ssl_certificate {folder}/server.pem; ssl_certificate_key {folder}/server.key;
    server {{ listen 127.0.0.1:{http}; root {root};
        location /generated/ {{ return 200 "{generated}"; }} }}
    server {{ listen 127.0.0.1:{https1} ssl; root {root}; }}
    server {{ listen 127.0.0.1:{https2} ssl http2; root {root}; }}
    server {{ listen 127.0.0.1:{limited}; root {root}; limit_rate {limit}; }}
    server {{ listen 127.0.0.1:{slow}; root {root}; limit_rate {slow_limit}; }}
    server {{ listen 127.0.0.1:{put}; root {uploads}; client_max_body_size 0; dav_methods PUT; }}
}}
"""

#: The answer to any path below /generated/, for many tasks without as many files.
GENERATED = "dld" * 100


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def make_certificates(folder):
    """Makes an authority that every contender is told to trust, and its certificate for 127.0.0.1."""
    authority, key, request, certificate = (str(folder / name) for name in ("ca.pem", "ca.key", "csr", "server.pem"))
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
            "-subj", "/CN=dld benchmark", "-keyout", key, "-out", authority)
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=127.0.0.1",
            "-keyout", str(folder / "server.key"), "-out", request)
    extensions = folder / "extensions"
    extensions.write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\nbasicConstraints=CA:FALSE\n")
    openssl("x509", "-req", "-in", request, "-CA", authority, "-CAkey", key, "-CAcreateserial", "-days", "30",
            "-extfile", str(extensions), "-out", certificate)
    return authority


class Nginx:
    """`origin(NAME)` returns the address of a port; NAME is http, https1, https2, limited, slow or put."""

    KINDS = ["http", "https1", "https2", "limited", "slow", "put"]

    def __init__(self, folder, root, uploads, limit="2m", slow_limit="20k"):
        program = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")
        if not program:
            raise SystemExit("nginx is missing: Benchmarks/prepare installs it")
        folder.mkdir(parents=True, exist_ok=True)
        self.authority = make_certificates(folder)
        self.ports = dict(zip(self.KINDS, free_ports(len(self.KINDS))))
        configuration = folder / "nginx.conf"
        configuration.write_text(CONFIGURATION.format(
            user="user root; " if os.geteuid() == 0 else "", folder=folder, root=root, uploads=uploads,
            generated=GENERATED, limit=limit, slow_limit=slow_limit, **self.ports))
        self.process = children.start(
            [program, "-p", str(folder), "-e", str(folder / "error.log"), "-c", str(configuration)])
        if not all(answers(port) for port in self.ports.values()):
            self.end()
            raise Failed(f"nginx did not start: {(folder / 'error.log').read_text()}")

    def origin(self, kind):
        return f"{'https' if kind.startswith('https') else 'http'}://127.0.0.1:{self.ports[kind]}"

    def end(self):
        self.process.terminate()
        self.process.wait()


def answers(port):
    for _ in range(200):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return True
        time.sleep(0.05)
    return False



class SlowServer:
    """Sends `file` in every response, in small pieces, at other moments for each connection (native/slow_server.c)."""

    def __init__(self, native, file, piece, milliseconds):
        self.process = children.start([native("slow_server"), str(file), str(piece), str(milliseconds)],
                                      stdout=subprocess.PIPE)
        self.origin = f"http://127.0.0.1:{int(self.process.stdout.readline())}"

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()

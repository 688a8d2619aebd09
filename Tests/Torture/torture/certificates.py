"""Certificates for 127.0.0.1, made with openssl(1): good ones, and some that must not be trusted."""
import pathlib
import ssl
import subprocess


class Certificates:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.authority("ca")
        self.authority("stranger")
        self.issue("good", "ca", "IP:127.0.0.1")
        self.issue("expired", "ca", "IP:127.0.0.1", days=-1)
        self.issue("another-name", "ca", "DNS:example.org")
        self.issue("strange", "stranger", "IP:127.0.0.1")

    @property
    def authority_file(self):
        return str(self.folder / "ca.pem")

    def run(self, *words):
        done = subprocess.run(["openssl", *words], cwd=self.folder, capture_output=True, text=True)
        if done.returncode:
            raise OSError(f"openssl {words[0]}: {done.stderr[-300:]}")

    def authority(self, name):
        self.run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "9",
                 "-keyout", f"{name}.key", "-out", f"{name}.pem", "-subj", f"/CN={name}")

    def issue(self, name, issuer, subject, days=9):
        """A certificate for `subject` that is valid for `days`. If `days` is negative, it has expired."""
        self.run("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", f"{name}.key",
                 "-out", f"{name}.csr", "-subj", "/CN=torture", "-addext", f"subjectAltName={subject}")
        self.run("x509", "-req", "-in", f"{name}.csr", "-CA", f"{issuer}.pem", "-CAkey", f"{issuer}.key", "-CAcreateserial",
                 "-days", str(days), "-copy_extensions", "copy", "-out", f"{name}.pem")

    def context(self, name="good", protocols=("http/1.1",)):
        """An ssl.SSLContext of a server with this certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.folder / f"{name}.pem", self.folder / f"{name}.key")
        context.set_alpn_protocols(list(protocols))
        return context

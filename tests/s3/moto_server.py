"""An S3 server on the loopback in its own process; it logs every request."""

import os
import re
import socket
import subprocess
import time


class Server:
    """An S3 server, its logged requests, and the settings of its clients."""

    def __init__(self, folder):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.folder = folder
        self.log = folder / "requests.log"
        with self.log.open("wb") as log:
            words = [os.environ["MOTO_SERVER"], "-H", "127.0.0.1", "-p", str(self.port)]
            self.process = subprocess.Popen(words, stdout=log, stderr=log)
        self.options = {
            "key": "test",
            "secret": "test",
            "client_kwargs": {"endpoint_url": f"http://127.0.0.1:{self.port}"},
        }
        self.environment = {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
        }
        for _ in range(600):
            if b"Running on" in self.log.read_bytes():
                return
            time.sleep(0.05)
        raise RuntimeError(self.log.read_text())

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def gets(self):
        """Return the number of GET and HEAD requests so far."""
        text = self.log.read_text()
        asked = re.findall(r"\b(GET|HEAD) /data/[^ ]+\.mocps", re.sub(r"\x1b\[\d+m", "", text))
        return asked.count("GET"), asked.count("HEAD")

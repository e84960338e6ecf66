"""A stand-in for the internet, which tests must not need: a network namespace beside this machine."""
import os
import subprocess
import sys

import pytest

OUTSIDE = "198.51.100.2"  # TEST-NET-2, which nothing else uses
OUR_SIDE = "198.51.100.1"
# Answers every HTTP request with the caller's address, and every DNS question with its own.
SERVE = f"""
import http.server, socket, threading
class Who(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(self.client_address[0].encode())
def names():
    dns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); dns.bind(("", 53))
    while True:
        question, caller = dns.recvfrom(4096)
        end = question.index(0, 12) + 5
        kind = int.from_bytes(question[end - 4:end - 2], "big")
        answer = b"\\xc0\\x0c\\0\\1\\0\\1\\0\\0\\0\\5\\0\\4" + socket.inet_aton("{OUTSIDE}") if kind == 1 else b""
        dns.sendto(question[:2] + b"\\x85\\x80\\0\\1" + (b"\\0\\1" if answer else b"\\0\\0") + b"\\0\\0\\0\\0"
                   + question[12:end] + answer, caller)
threading.Thread(target=names, daemon=True).start()
server = http.server.HTTPServer(("", 8000), Who)
print("ready", flush=True)
server.serve_forever()
"""


def run(*words, **kwargs):
    return subprocess.run(words, check=True, capture_output=True, text=True, **kwargs).stdout


@pytest.fixture
def outside():
    """A stand-in for the internet: a network namespace that this machine reaches and that knows no Pod."""
    name = f"mo{os.getpid()}"
    run("ip", "netns", "add", name)
    server = None
    try:
        run("ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name)
        run("ip", "addr", "add", f"{OUR_SIDE}/30", "dev", name)
        run("ip", "link", "set", name, "up")
        run("ip", "-n", name, "addr", "add", f"{OUTSIDE}/30", "dev", "eth0")
        run("ip", "-n", name, "link", "set", "eth0", "up")
        server = subprocess.Popen(["ip", "netns", "exec", name, sys.executable, "-c", SERVE],
                                  stdout=subprocess.PIPE, text=True)
        assert server.stdout.readline() == "ready\n"
        yield
    finally:
        if server:
            server.kill()
            server.wait()
        run("ip", "netns", "del", name)

"""What Pods reach outside their own network, and several mantas on one machine."""
import json
import os
import pathlib
import signal
import subprocess
import textwrap

import pytest
from conftest import BIN, Manta, wait_for
from outside import OUR_SIDE, OUTSIDE, outside, run  # noqa: F401 (a fixture)

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make network namespaces"),
              pytest.mark.skipif(subprocess.run("nft list tables", shell=True, capture_output=True).returncode != 0,
                                 reason="nftables does not work here")]

def up_with_name_server(manta, tmp_path, *options):
    """manta up, seeing a resolv.conf that names the stand-in's server."""
    resolver = tmp_path / "resolv.conf"
    resolver.write_text(f"nameserver {OUTSIDE}\n")
    subprocess.run(["unshare", "-m", "sh", "-ec", 'mount --bind "$0" /etc/resolv.conf; exec "$@"', resolver,
                    BIN, "up", "--port", "0", *options], env=manta.env, check=True, capture_output=True, timeout=60)


def pod(name, command):
    return f"""
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  restartPolicy: Never
  containers: [{{name: c, image: "rayproject/ray:2.60.0", command: {command}}}]
"""


def run_pod(manta, name, code):
    """A Pod that runs Python code to its end; its log."""
    manta.apply(pod(name, json.dumps(["python", "-c", textwrap.dedent(code)])))
    wait_for(f"the end of {name}", lambda: manta.kubectl(
        "get", "pod", name, "-o", "jsonpath={.status.phase}").stdout in ("Succeeded", "Failed"))
    return manta.kubectl("logs", name).stdout


WHO_AM_I = """
    import urllib.request
    try:
        print(urllib.request.urlopen("http://{host}:8000/", timeout=10).read().decode())
    except OSError as error:
        print("no way:", error)
"""


def tables(manta):
    """This manta's own, whatever others do on this machine."""
    return [name for name in all_tables() if manta.marker() and manta.marker() in name]


def all_tables():
    return [line.split()[-1] for line in run("nft", "list", "tables").splitlines()]


def forwarding():
    """Whether this machine forwards; nothing while some manta runs, since they share the switch."""
    if any(name.startswith("manta") for name in all_tables()):
        return None
    return pathlib.Path("/proc/sys/net/ipv4/ip_forward").read_text()


def assert_forwards_as(before):
    now = forwarding()
    assert None in (before, now) or now == before


def test_pods_reach_the_world_under_the_hosts_address(manta, outside, tmp_path):
    forwarded = forwarding()
    up_with_name_server(manta, tmp_path)
    assert run_pod(manta, "by-address", WHO_AM_I.format(host=OUTSIDE)).strip() == OUR_SIDE
    assert run_pod(manta, "by-name", WHO_AM_I.format(host="pypi.example.com")).strip() == OUR_SIDE
    said = run_pod(manta, "cluster", """
        import socket, time
        start = time.monotonic()
        for name in ("nobody", "nobody.default.svc.cluster.local"):
            try: print(socket.gethostbyname(name))
            except OSError: print("no such name")
        print("kubernetes", socket.gethostbyname("kubernetes.default"))
        """)
    assert said.count("no such name") == 2, "names of the cluster are never asked outside"
    assert "kubernetes 10." in said
    manta("down")
    manta.assert_nothing_left()
    assert_forwards_as(forwarded)


def test_no_outbound_keeps_pods_inside(manta, outside, tmp_path):
    up_with_name_server(manta, tmp_path, "--no-outbound")
    assert tables(manta) == []
    assert "no way" in run_pod(manta, "by-address", WHO_AM_I.format(host=OUTSIDE))
    assert "no way" in run_pod(manta, "by-name", WHO_AM_I.format(host="pypi.example.com"))
    other = manta("up", check=False)
    assert other.returncode == 1 and "no outbound" in other.stderr


def test_killed_manta_leaves_no_way_open_for_long(manta):
    forwarded = forwarding()
    manta.up()
    assert len(tables(manta)) == 1
    pid = manta.state()["pid"]
    os.kill(pid, signal.SIGKILL)
    wait_for("its end", lambda: not pathlib.Path(f"/proc/{pid}").exists())
    manta.up()
    assert len(tables(manta)) == 1, "the next one takes the old table away"
    manta("down")
    assert tables(manta) == []
    assert_forwards_as(forwarded)


ASK_THE_API = """
    import json, os, ssl, urllib.request
    folder = "/var/run/secrets/kubernetes.io/serviceaccount/"
    url = "https://{}:{}/api/v1/namespaces/default/configmaps/who".format(
        os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"])
    request = urllib.request.Request(url, headers={"Authorization": "Bearer " + open(folder + "token").read()})
    answer = urllib.request.urlopen(request, context=ssl.create_default_context(cafile=folder + "ca.crt"))
    print(json.load(answer)["data"]["name"], os.environ["KUBERNETES_SERVICE_HOST"])
"""


@pytest.mark.parametrize("network", [None, "10.111.0.0/16"], ids=["chosen", "the-same"])
def test_several_mantas_reach_their_own_services(manta, images, tmp_path_factory, network):
    """Each Pod's `kubernetes` Service is its own, also where two mantas have the same cluster IPs."""
    other = Manta(tmp_path_factory.mktemp("other"), images)
    try:
        seen = {}
        for name, one in (("first", manta), ("second", other)):
            if network:
                (one.home / "service-cidr").write_text(network + "\n")
            one.up()
            one.make("ConfigMap", "who", {"name": name})
        for name, one in (("first", manta), ("second", other)):
            said = run_pod(one, "ask", ASK_THE_API)
            assert said.startswith(name + " "), said
            address = said.split()[1]
            seen[name] = address
        assert len(set(seen.values())) == (1 if network else 2), seen
    finally:
        other.stop()

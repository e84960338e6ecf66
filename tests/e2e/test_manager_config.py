"""What the manager says, and how it ends, when it is told something it cannot work with."""
import json
import os
import pathlib
import socket
import subprocess

import pytest

from lab import MANAGER

QUIET = ["--metrics-addr=0", "--health-probe-bind-address=0", "--enable-leader-election=false"]


def run(*flags, env=None, timeout=30):
    environment = {k: v for k, v in os.environ.items() if k not in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST")}
    return subprocess.run([MANAGER, *map(str, flags)], text=True, capture_output=True, timeout=timeout,
                          env={**environment, "HOME": "/nowhere", **(env or {})})


def last(done):
    """The last line, which must be JSON."""
    return json.loads(done.stderr.strip().splitlines()[-1])


@pytest.fixture
def nobody(tmp_path):
    """A kubeconfig of a server that does not answer."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": f"https://127.0.0.1:{port}"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}))
    return path


@pytest.mark.parametrize("flags, exit_code, text", [
    (["--help"], 0, "Usage of /manager"),
    (["-h"], 0, "-reconcile-concurrency"),
    (["--nope"], 2, "flag provided but not defined: -nope"),
    (["--burst=many"], 2, 'invalid value "many" for flag -burst: parse error'),
    (["--zap-encoder=xml"], 2, "must be one of json, console"),
], ids=lambda value: value[0] if isinstance(value, list) else "")
def test_command_line(flags, exit_code, text):
    done = run(*flags)
    assert done.returncode == exit_code
    assert text in done.stderr


@pytest.mark.parametrize("flags, what, error", [
    (["--feature-gates=Nope=true"], "Unable to set flag gates for known features", "unrecognized feature gate: Nope"),
    (["--feature-gates=RayCronJob"], "Unable to set flag gates for known features",
     "missing bool value for RayCronJob"),
    (["--log-stdout-encoder=xml"], "failed to create log encoder for stdout",
     "invalid encoder \"xml\" (must be 'json' or 'console')"),
    (["--batch-scheduler=default"], "batch scheduler configs validation failed",
     "scheduler is not supported, name=default"),
    (["--config=/nowhere/config.yaml"], "failed to read config file", "cannot read /nowhere/config.yaml: No such file"),
    (["--config=/proc"], "failed to read config file", "cannot read /proc: it is a directory"),
    (["--config=/dev/null"], "unable to get kubeconfig", ""),  # empty: the defaults
    (["--log-file-path=/proc/none/log"], "cannot write logs", "cannot make folder /proc/none of the log file"),
    (["--burst=-1"], "unable to start manager", "burst is -1"),
    (["--watch-namespace=a, b"], "unable to start manager", 'watch-namespace has " b"'),
    (["--kubeconfig=/nowhere/kubeconfig"], "unable to get kubeconfig", "/nowhere/kubeconfig"),
    ([], "unable to get kubeconfig", ""),
], ids=lambda value: value[0] if isinstance(value, list) and value else "")
def test_start_fails(flags, what, error):
    done = run(*QUIET, *flags)
    assert done.returncode == 1, done.stderr
    line = last(done)
    assert (line["level"], line["msg"]) == ("error", what)
    assert error in line["error"]


@pytest.mark.parametrize("text, error", [
    ("burst: 300.5", "json: cannot unmarshal number 300.5 into Go struct field Configuration.burst of type int"),
    ("reconcileConcurrency: true",
     "json: cannot unmarshal bool into Go struct field Configuration.reconcileConcurrency of type int"),
    ("kind: Pod", 'no kind "Pod" is registered'),
    ("a: [", "line"),
])
def test_config_file(tmp_path, text, error):
    (tmp_path / "config.yaml").write_text(text)
    done = run(f"--config={tmp_path}/config.yaml")
    assert done.returncode == 1
    assert last(done)["msg"] == "failed to decode config file"
    assert error in last(done)["error"]


def test_no_election_namespace(nobody):
    done = run("--metrics-addr=0", "--health-probe-bind-address=0", f"--kubeconfig={nobody}")
    assert done.returncode == 1
    assert "unable to find leader election namespace" in last(done)["error"]


def test_no_api_server(nobody):
    done = run(*QUIET, f"--kubeconfig={nobody}")
    assert done.returncode == 1
    assert last(done)["msg"] == "unable to detect cluster type (OpenShift vs Kubernetes)"
    assert "Connection refused" in last(done)["error"]


@pytest.mark.parametrize("flag", ["metrics-addr", "health-probe-bind-address"])
def test_port_in_use(nobody, flag):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = run(*QUIET, f"--{flag}={address}", f"--kubeconfig={nobody}")
    assert done.returncode == 1
    assert last(done)["msg"] == "unable to start manager"
    assert address in last(done)["error"] and "in use" in last(done)["error"]


def test_no_webhook_certificate(nobody, tmp_path):
    done = run(*QUIET, f"--kubeconfig={nobody}", env={"ENABLE_WEBHOOKS": "true", "TMPDIR": str(tmp_path)})
    assert done.returncode == 1
    assert f"{tmp_path}/k8s-webhook-server/serving-certs/tls.crt" in last(done)["error"]


def test_what_is_ignored_is_told(nobody):
    done = run(*QUIET, f"--kubeconfig={nobody}", "--reconcile-concurrency=0", "--enable-metrics", "true", "--burst=-1")
    lines = [json.loads(line) for line in done.stderr.strip().splitlines()]
    assert any(line.get("ignored") == "true --burst=-1" for line in lines)
    assert any(line.get("reconcileConcurrency") == 0 for line in lines)
    gates = next(line["featureGates"] for line in lines if line["msg"] == "Loaded feature gates")
    assert gates["RayClusterStatusConditions"] is True and gates["RayCronJob"] is False


def test_log_file(nobody, tmp_path):
    log = tmp_path / "deep" / "operator.log"
    done = run(*QUIET, f"--kubeconfig={nobody}", f"--log-file-path={log}", "--log-file-encoder=console",
               "--zap-log-level=error")
    assert len(done.stderr.strip().splitlines()) == 1  # the error; the file has what went before
    lines = log.read_text().splitlines()
    assert any("\tinfo\tsetup\tSetup manager" in line for line in lines)
    assert pathlib.Path(log).stat().st_mode & 0o077 == 0

"""The walk that every RayJob user takes first (walk.py): with real Ray, and on a real API server."""
import subprocess
import sys

import pytest
import walk
from conftest import wait_for
from lab import CONFORMANCE, TOP, Lab

SCRIPTED_PODS = TOP / "tests/e2e/scripted_pods.py"


def test_the_walk_that_every_user_takes_first(up):
    walk.walk(up)


def test_shutdown_leaves_the_submitter_and_its_log(up):
    walk.shut_down_after_ten_seconds(up)


def test_deletion_rules_act_in_turn(up):
    walk.clean_up_by_rules(up)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A real API server with the manager and Pods that are scripted."""
    lab = Lab()
    folder = tmp_path_factory.mktemp("walk")
    try:
        lab.up()
        with open(folder / "pods.log", "ab") as log:
            command, _ = lab.exec(sys.executable, SCRIPTED_PODS, CONFORMANCE, lab.folder / "kubeconfig")
            lab.processes.append(subprocess.Popen(command, stdout=log, stderr=log))
        lab.manager(folder, "--enable-leader-election=false")
        yield Served(lab)
    finally:
        lab.down()
        for name in ("pods.log", "mgr-a.log"):
            if (folder / name).exists():
                print(f"--- {name}", (folder / name).read_text()[-3000:], sep="\n")


class Served:
    def __init__(self, lab):
        self.kubectl, self.get = lab.kubectl, lab.get

    def apply(self, text):
        return self.kubectl("apply", "-f", "-", input=text)


def test_the_walk_on_a_real_api_server(served):
    walk.walk(served)


def test_RJ_32_a_refused_submitter_is_told_in_the_api_servers_words(served):
    served.apply(walk.job(submitterPodTemplate={"spec": {"containers": [{"name": "s", "image": "i"}]}}))
    wait_for("the message to say it", lambda: "restartPolicy: Required value" in walk.field(served, "message")
             or "restartPolicy: Unsupported value" in walk.field(served, "message"), 60)
    assert walk.field(served, "jobDeploymentStatus") == "Initializing"
    served.kubectl("delete", "rayjob", walk.NAME)


def test_shutdown_on_a_real_api_server(served):
    walk.shut_down_after_ten_seconds(served)


def test_deletion_rules_on_a_real_api_server(served):
    walk.clean_up_by_rules(served)

// The node with real processes, namespaces and cgroups. Needs root (or user namespaces); says so
// loudly and skips where it has neither. Waiting is by condition with a limit, never by a fixed
// pause.
#include "base/asio_loop.h"
#include "local/node/files.h"
#include "local/node/helper_spec.h"
#include "local/node/host_setup.h"
#include "local/node/node.h"
#include "local/node/testing/tiny_api.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace {
/// This test is its own helper: before gtest sees the command line.
__attribute__((constructor)) void become_helper(int argc, char** argv, char**) {
  if (argc > 1 && manta::local::is_helper_call(argc, argv))
    _exit(manta::local::helper_main(argc, argv));
}
}  // namespace

namespace manta::local {
namespace {

using std::chrono::seconds;

class HostImages final : public ImageStore {
 public:
  Result<ImageRoot> resolve(const std::string& name) override {
    if (name == "missing")
      return failed(ErrorCode::NotFound,
                    "no image \"missing\": manta image add missing --root DIR");
    return image;
  }
  ImageRoot image = {};
};

class NodeReal : public ::testing::Test {
 protected:
  void SetUp() override {
    if (needs_rootless())
      if (auto entered = enter_rootless(); !entered)
        GTEST_SKIP() << "SKIPPED, no real Pod was tried: " << entered.error().message;
    char folder[] = "/tmp/manta-node-test-XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    state_ = folder;
    hosts_ = state_ + "-hosts";
    std::ofstream(hosts_) << "127.0.0.1 localhost\n";
    start_node();
  }
  void TearDown() override {
    if (node_ == nullptr) return;
    stop_node();
    node_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(state_, ignored);
    std::filesystem::remove(hosts_, ignored);
  }

  void stop_node() {
    (void)run_to_end(loop_, [](Node& node) -> Task<bool> {
      co_await node.stop();
      co_return true;
    }(*node_));
  }

  void start_node() {
    NodeOptions options;
    options.node_name = "n";
    options.state_folder = state_ + "/s";
    options.host_names_file = hosts_;
    options.volume_refresh = std::chrono::milliseconds{100};
    options.stop_grace = seconds{1};
    options.logs.file_bytes = 4096;
    options.logs.files = 10;
    node_ = std::make_unique<Node>(loop_, api_, images_, random_, options);
    auto started = run_to_end(loop_, node_->start());
    ASSERT_TRUE(started) << started.error().message;
  }

  /// Runs the loop until the condition holds; false after the limit. The condition may run the
  /// loop.
  bool until(const std::function<bool()>& condition, Duration limit = seconds{30}) {
    const auto end = loop_.now() + limit;
    while (!condition()) {
      if (loop_.now() > end) return false;
      (void)run_to_end(loop_, manta::sleep(loop_, std::chrono::milliseconds{10}));
    }
    return true;
  }

  /// `spec`: the Pod's spec without nodeName.
  void create(const std::string& name, std::string_view spec) {
    Json pod = JsonObject{
        {"apiVersion", "v1"},
        {"kind", "Pod"},
        {"metadata",
         JsonObject{{"name", name}, {"namespace", "ns"}, {"labels", JsonObject{{"app", name}}}}}};
    auto parsed = parse_json(spec);
    ASSERT_TRUE(parsed) << parsed.error().message;
    pod.as_object()["spec"] = std::move(*parsed);
    pod.as_object()["spec"].as_object()["nodeName"] = "n";
    api_.put(kube::kPods, std::move(pod));
  }
  const Json* pod(const std::string& name) { return api_.find_object(kube::kPods, {"ns", name}); }
  std::string phase(const std::string& name) {
    return pod(name) == nullptr ? "gone" : std::string(string_at(*pod(name), {"status", "phase"}));
  }
  Json container(const std::string& name, std::size_t index = 0) {
    const auto& all = array_at(*pod(name), {"status", "containerStatuses"});
    return index < all.size() ? all[index] : Json(JsonObject{});
  }
  bool ready(const std::string& name) {
    return pod(name) != nullptr && bool_at(container(name), {"ready"});
  }
  std::string log(const std::string& name, LogOptions options = {},
                  const std::string& which = "c") {
    std::string text;
    OutputSink sink = [&text](std::string piece) -> Task<bool> {
      text += piece;
      co_return true;
    };
    auto done = run_to_end(
        loop_, node_->logs({"ns", name, std::string(string_at(*pod(name), {"metadata", "uid"})),
                            which, "n"},
                           options, sink, {}));
    return done ? text : "error: " + done.error().message;
  }
  std::pair<int, std::string> exec(const std::string& name, std::vector<std::string> command,
                                   const std::string& input = "", bool tty = false) {
    std::string text;
    OutputSink sink = [&text](std::string piece) -> Task<bool> {
      text += piece;
      co_return true;
    };
    ExecStreams streams{Channel<std::string>(loop_), Channel<TerminalSize>(loop_), sink, sink};
    if (!input.empty()) streams.input.push(input);
    if (!tty) streams.input.close();
    ExecRequest request{
        {"ns", name, std::string(string_at(*pod(name), {"metadata", "uid"})), "c", "n"},
        std::move(command),
        !input.empty(),
        true,
        !tty,
        tty};
    auto code = run_to_end(loop_, node_->exec(std::move(request), streams, {}));
    return {code ? *code : -1, code ? text : code.error().message};
  }
  std::string why_limits_are_advice() {
    for (const auto& warning : node_->warnings())
      if (warning.contains("limits")) return warning;
    return "";
  }
  std::string status_text(const std::string& name) {
    return pod(name) == nullptr ? "gone" : pretty_json(*find(*pod(name), {"status"}));
  }
  void remove(const std::string& name) {
    kube::Request request{
        .verb = kube::Verb::Delete, .resource = kube::kPods, .namespace_ = "ns", .name = name};
    (void)run_to_end(loop_, api_.call(std::move(request)));
  }

  AsioLoop loop_;
  testing::TinyApi api_{loop_};
  HostImages images_;
  SystemRandom random_;
  std::string state_, hosts_;
  std::unique_ptr<Node> node_;
};

TEST_F(NodeReal, ACommandRunsToItsEndAndLeavesItsLogAndMessage) {
  create(
      "p",
      R"({"restartPolicy":"Never","containers":[{"name":"c","image":"i","command":["/bin/sh","-c"],
    "args":["echo hello $WHO; echo $(WHO) >&2; hostname; echo done > /dev/termination-log; exit 3"],"env":[{"name":"WHO","value":"you"}]}]})");
  ASSERT_TRUE(until([&] { return phase("p") == "Failed"; })) << status_text("p");
  const auto c = container("p");
  EXPECT_EQ(int_at(c, {"state", "terminated", "exitCode"}), 3);
  EXPECT_EQ(string_at(c, {"state", "terminated", "reason"}), "Error");
  EXPECT_EQ(string_at(c, {"state", "terminated", "message"}), "done\n");
  const auto text = log("p");
  EXPECT_NE(text.find("hello you\n"), std::string::npos) << text;
  EXPECT_NE(text.find("you\np\n"), std::string::npos) << text;
}

TEST_F(NodeReal, EachPodHasItsOwnAddressAndOthersReachIt) {
  create(
      "server",
      R"({"containers":[{"name":"c","image":"i","command":["/usr/bin/python3","-m","http.server","8000"],
    "readinessProbe":{"httpGet":{"path":"/","port":8000},"initialDelaySeconds":60}}]})");
  ASSERT_TRUE(until([&] { return ready("server"); })) << status_text("server");
  const std::string ip(string_at(*pod("server"), {"status", "podIP"}));
  create(
      "client",
      R"({"restartPolicy":"Never","containers":[{"name":"c","image":"i","command":["/bin/sh","-c","wget -q -O- http://)" +
          ip + R"(:8000/ | head -3; ls /sys/class/net"]}]})");
  ASSERT_TRUE(until([&] { return phase("client") == "Succeeded"; }))
      << status_text("client") << log("client");
  EXPECT_NE(log("client").find("DOCTYPE"), std::string::npos);
  EXPECT_NE(log("client").find("eth0"), std::string::npos);
}

TEST_F(NodeReal, ServiceNamesResolveInPodsAndOnTheHost) {
  create(
      "server",
      R"({"containers":[{"name":"c","image":"i","command":["/usr/bin/python3","-m","http.server","8000"],
    "readinessProbe":{"tcpSocket":{"port":8000}}}]})");
  ASSERT_TRUE(until([&] { return ready("server"); })) << status_text("server");
  const std::string ip(string_at(*pod("server"), {"status", "podIP"}));
  api_.put(
      kube::kServices,
      *parse_json(R"({"metadata":{"name":"head","namespace":"ns"},"spec":{"clusterIP":"None"}})"));
  api_.put(
      kube::kServices,
      *parse_json(
          R"({"metadata":{"name":"web","namespace":"ns"},"spec":{"clusterIP":"10.96.77.1","ports":[{"name":"h","port":80}]}})"));
  for (const char* name : {"head", "web"})
    api_.put(kube::kEndpointSlices,
             *parse_json(std::string(R"({"metadata":{"namespace":"ns","name":")") + name +
                         R"(-1","labels":{"kubernetes.io/service-name":")" + name +
                         R"("}},"addressType":"IPv4","endpoints":[{"addresses":[")" + ip +
                         R"("]}],"ports":[{"name":"h","port":8000}]})"));
  create(
      "client",
      R"({"restartPolicy":"OnFailure","containers":[{"name":"c","image":"i","command":["/bin/sh","-c",
    "set -e; wget -q -O- http://head.ns.svc.cluster.local:8000/ >/dev/null; wget -q -O- http://web/ >/dev/null; wget -q -O- http://$WEB_SERVICE_HOST:$WEB_SERVICE_PORT/ >/dev/null; echo all"]}]})");
  ASSERT_TRUE(until([&] { return phase("client") == "Succeeded"; }))
      << status_text("client") << log("client");
  EXPECT_EQ(log("client"), "all\n");
  std::ifstream in(hosts_);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  EXPECT_NE(text.find(ip + "\thead.ns.svc.cluster.local"), std::string::npos) << text;
}

TEST_F(NodeReal, AProcessOverItsMemoryIsKilledAndTheStatusSaysSo) {
  if (auto why = why_limits_are_advice(); !why.empty()) GTEST_SKIP() << "SKIPPED: " << why;
  create(
      "p",
      R"({"restartPolicy":"Never","containers":[{"name":"c","image":"i","command":["/usr/bin/python3","-c","x=bytearray(200<<20);"],
    "resources":{"limits":{"memory":"64Mi"}}}]})");
  ASSERT_TRUE(until([&] { return phase("p") == "Failed"; })) << status_text("p");
  EXPECT_EQ(string_at(container("p"), {"state", "terminated", "reason"}), "OOMKilled")
      << status_text("p");
  EXPECT_EQ(int_at(container("p"), {"state", "terminated", "exitCode"}), 137);
}

TEST_F(NodeReal, AChildKilledForMemoryEndsItsContainer) {
  if (auto why = why_limits_are_advice(); !why.empty()) GTEST_SKIP() << "SKIPPED: " << why;
  // As Ray does it: the container's first process lives on when a worker has gone.
  create(
      "p",
      R"({"restartPolicy":"Never","containers":[{"name":"c","image":"i","command":["/bin/sh","-c","/usr/bin/python3 -c 'x=bytearray(200<<20)'; echo went on; sleep 1000"],
    "resources":{"limits":{"memory":"64Mi"}}}]})");
  ASSERT_TRUE(until([&] { return phase("p") == "Failed"; })) << status_text("p") << log("p");
  EXPECT_EQ(string_at(container("p"), {"state", "terminated", "reason"}), "OOMKilled");
  EXPECT_EQ(int_at(container("p"), {"state", "terminated", "exitCode"}), 137);
}

TEST_F(NodeReal, InitContainersAndSidecarsComeFirstAndVolumesAreShared) {
  create(
      "p",
      R"({"restartPolicy":"Never","volumes":[{"name":"v","emptyDir":{}},{"name":"m","emptyDir":{"medium":"Memory","sizeLimit":"8Mi"}}],
    "initContainers":[{"name":"first","image":"i","command":["/bin/sh","-c","echo one > /v/f; echo m > /m/f"],"volumeMounts":[{"name":"v","mountPath":"/v"},{"name":"m","mountPath":"/m"}]},
      {"name":"side","image":"i","restartPolicy":"Always","command":["/bin/sh","-c","echo two >> /v/f; touch /v/up; sleep 1000"],"startupProbe":{"exec":{"command":["test","-e","/v/up"]}},"volumeMounts":[{"name":"v","mountPath":"/v"}]}],
    "containers":[{"name":"c","image":"i","command":["/bin/sh","-c","cat /v/f /m/f /ro/f; df -k /m | tail -1; echo x > /ro/f || echo read-only"],
      "volumeMounts":[{"name":"v","mountPath":"/v"},{"name":"m","mountPath":"/m"},{"name":"v","mountPath":"/ro","readOnly":true}]}]})");
  ASSERT_TRUE(until([&] { return phase("p") == "Succeeded"; })) << status_text("p");
  const auto text = log("p");
  EXPECT_TRUE(text.starts_with("one\ntwo\nm\none\ntwo\n")) << text;
  EXPECT_NE(text.find(" 8192 "), std::string::npos) << text;
  EXPECT_NE(text.find("read-only"), std::string::npos) << text;
}

TEST_F(NodeReal, ConfigMapsAreFilesThatFollowTheirObject) {
  api_.put(
      kube::kConfigMaps,
      *parse_json(R"({"metadata":{"name":"m","namespace":"ns"},"data":{"k":"one","l":"other"}})"));
  create(
      "p",
      R"({"serviceAccountName":"sa","volumes":[{"name":"v","configMap":{"name":"m"}},{"name":"t","projected":{"sources":[{"serviceAccountToken":{"path":"token"}},{"downwardAPI":{"items":[{"path":"labels","fieldRef":{"fieldPath":"metadata.labels"}}]}}]}}],
    "containers":[{"name":"c","image":"i","command":["/bin/sh","-c","cat /v/k /t/token /t/labels /sub; echo; until grep -q two /v/k; do sleep 0.05; done; echo seen; sleep 1000"],
    "volumeMounts":[{"name":"v","mountPath":"/v"},{"name":"t","mountPath":"/t"},{"name":"v","mountPath":"/sub","subPath":"l"}]}]})");
  ASSERT_TRUE(until([&] { return ready("p"); })) << status_text("p");
  ASSERT_TRUE(until([&] { return log("p").find("other") != std::string::npos; })) << log("p");
  EXPECT_EQ(log("p"), "onetoken-of-saapp=\"p\"other\n");
  api_.put(kube::kConfigMaps,
           *parse_json(R"({"metadata":{"name":"m","namespace":"ns"},"data":{"k":"two"}})"));
  ASSERT_TRUE(until([&] { return log("p").find("seen") != std::string::npos; })) << log("p");
}

TEST_F(NodeReal, WhatIsMissingIsSaidAndThePodStartsWhenItComes) {
  create(
      "p",
      R"({"restartPolicy":"Never","containers":[{"name":"c","image":"i","command":["/bin/sh","-c","echo $K"],"env":[{"name":"K","valueFrom":{"configMapKeyRef":{"name":"m","key":"k"}}}]}]})");
  ASSERT_TRUE(until([&] {
    return pod("p") && string_at(container("p"), {"state", "waiting", "reason"}) ==
                           "CreateContainerConfigError";
  })) << status_text("p");
  EXPECT_EQ(string_at(container("p"), {"state", "waiting", "message"}),
            "configmap \"m\" not found");
  api_.put(kube::kConfigMaps,
           *parse_json(R"({"metadata":{"name":"m","namespace":"ns"},"data":{"k":"v"}})"));
  ASSERT_TRUE(until([&] { return phase("p") == "Succeeded"; })) << status_text("p");
  create("q", R"({"restartPolicy":"Never","containers":[{"name":"c","image":"missing"}]})");
  ASSERT_TRUE(until([&] {
    return pod("q") &&
           string_at(container("q"), {"state", "waiting", "reason"}) == "ImagePullBackOff";
  })) << status_text("q");
  create(
      "r",
      R"({"restartPolicy":"Never","containers":[{"name":"c","image":"i","command":["/no/such"]}]})");
  ASSERT_TRUE(until([&] { return phase("r") == "Failed"; })) << status_text("r");
  EXPECT_EQ(string_at(container("r"), {"state", "terminated", "reason"}), "StartError");
  EXPECT_EQ(int_at(container("r"), {"state", "terminated", "exitCode"}), 128);
}

TEST_F(NodeReal, ExecJoinsTheContainer) {
  create(
      "p",
      R"({"containers":[{"name":"c","image":"i","env":[{"name":"A","value":"b"}],"command":["/bin/sleep","1000"]}]})");
  ASSERT_TRUE(until([&] { return ready("p"); })) << status_text("p");
  EXPECT_EQ(exec("p", {"/bin/sh", "-c", "echo $A; cat; exit 7"}, "in\n"),
            std::pair(7, std::string("b\nin\n")));
  EXPECT_EQ(exec("p", {"/bin/sh", "-c", "test -t 0 && echo terminal"}, "", true).second,
            "terminal\r\n");
  EXPECT_EQ(exec("p", {"/bin/sh", "-c", "id -u; ls /proc | grep -c '^[0-9]'"}).first, 0);
  const auto missing = exec("p", {"nosuchprogram"});
  EXPECT_NE(missing.second.find("executable file not found"), std::string::npos) << missing.second;
}

TEST_F(NodeReal, AFailingLivenessProbeRestartsTheContainer) {
  create(
      "p",
      R"({"terminationGracePeriodSeconds":1,"containers":[{"name":"c","image":"i","command":["/bin/sh","-c","trap 'exit 0' TERM; sleep 1000 & wait"],
    "livenessProbe":{"exec":{"command":["test","!","-e","/tmp/bad"]},"periodSeconds":1,"failureThreshold":1}}]})");
  ASSERT_TRUE(until([&] { return ready("p"); })) << status_text("p");
  (void)exec("p", {"touch", "/tmp/bad"});  // may be ended with the container by what it did
  ASSERT_TRUE(until([&] {
    return pod("p") && int_at(container("p"), {"restartCount"}) == 1 && ready("p");
  })) << status_text("p");
  EXPECT_NE(string_at(container("p"), {"lastState", "terminated", "reason"}), "");
}

TEST_F(NodeReal, ACrashingContainerBacksOff) {
  create(
      "p",
      R"({"containers":[{"name":"c","image":"i","command":["/bin/sh","-c","echo run; exit 1"]}]})");
  ASSERT_TRUE(until([&] {
    return pod("p") &&
           string_at(container("p"), {"state", "waiting", "reason"}) == "CrashLoopBackOff";
  })) << status_text("p");
  EXPECT_EQ(int_at(container("p"), {"restartCount"}), 1);
  EXPECT_EQ(log("p", {.previous = true}), "run\n");
  EXPECT_EQ(phase("p"), "Running");
}

TEST_F(NodeReal, DeletionRunsTheHookTermsAndRemovesThePod) {
  create("p", R"({"terminationGracePeriodSeconds":20,"volumes":[{"name":"h","hostPath":{"path":")" +
                  state_ + R"("}}],
    "containers":[{"name":"c","image":"i","securityContext":{"runAsUser":0},"command":["/bin/sh","-c","trap 'echo term >> /h/out; exit 0' TERM; sleep 1000 & wait"],
    "lifecycle":{"preStop":{"exec":{"command":["/bin/sh","-c","echo hook >> /h/out"]}}},"volumeMounts":[{"name":"h","mountPath":"/h"}]}]})");
  ASSERT_TRUE(until([&] { return ready("p"); })) << status_text("p");
  const std::string uid(string_at(*pod("p"), {"metadata", "uid"}));
  remove("p");
  ASSERT_TRUE(until([&] { return phase("p") == "gone"; }, seconds{10})) << status_text("p");
  std::ifstream in(state_ + "/out");
  EXPECT_EQ(std::string((std::istreambuf_iterator<char>(in)), {}), "hook\nterm\n");
  EXPECT_TRUE(until([&] { return !std::filesystem::exists(state_ + "/s/pods/" + uid); }));
}

TEST_F(NodeReal, ADeafProgramIsKilledAfterItsGrace) {
  create(
      "p",
      R"({"terminationGracePeriodSeconds":1,"containers":[{"name":"c","image":"i","command":["/bin/sh","-c","trap '' TERM; while :; do sleep 1; done"]}]})");
  ASSERT_TRUE(until([&] { return ready("p"); })) << status_text("p");
  remove("p");
  EXPECT_TRUE(until([&] { return phase("p") == "gone"; }, seconds{10})) << status_text("p");
}

TEST_F(NodeReal, APortIsForwardedToLoopbackInThePod) {
  create(
      "p",
      R"({"containers":[{"name":"c","image":"i","command":["/usr/bin/python3","-m","http.server","--bind","127.0.0.1","8000"],
    "readinessProbe":{"exec":{"command":["/bin/sh","-c","wget -q -O- http://localhost:8000/ | grep DOCTYPE"]}}}]})");
  ASSERT_TRUE(until([&] { return ready("p"); })) << status_text("p");
  std::string text;
  ForwardStream stream{Channel<std::string>(loop_), [&text](std::string piece) -> Task<bool> {
                         text += piece;
                         co_return true;
                       }};
  stream.input.push("GET / HTTP/1.0\r\n\r\n");
  auto done = run_to_end(
      loop_,
      node_->forward({"ns", "p", std::string(string_at(*pod("p"), {"metadata", "uid"})), "", "n"},
                     8000, stream, {}));
  EXPECT_TRUE(done) << done.error().message;
  EXPECT_TRUE(text.starts_with("HTTP/1.0 200")) << text;
}

TEST_F(NodeReal, TheStandInForWgetServesProbesAndAVenvShowsItsPython) {
  images_.image.venv = state_ + "/venv";
  std::filesystem::create_directories(state_ + "/venv/bin");
  std::filesystem::create_symlink("/usr/bin/python3", state_ + "/venv/bin/python");
  create(
      "p",
      R"({"restartPolicy":"Never","containers":[{"name":"c","image":"i","command":["/bin/bash","-lc","--"],
    "args":["python -m http.server 8000 & for i in 1 2 3 4 5 6 7 8 9; do sleep 0.3; /opt/manta/bin/wget --tries 1 -T 2 -q -O- http://localhost:8000/ | grep -q DOCTYPE && break; done; echo $? $HOME $(id -un); which python; ls -d ~/anaconda3/bin/python"]}]})");
  ASSERT_TRUE(until([&] { return phase("p") == "Succeeded"; })) << status_text("p") << log("p");
  const auto text = log("p");
  EXPECT_NE(text.find(std::string("0 /home/ray ") + (has_one_user() ? "root" : "ray") + "\n" +
                      state_ + "/venv/bin/python\n/home/ray/anaconda3/bin/python\n"),
            std::string::npos)
      << text;
}

TEST_F(NodeReal, ARayHeadAndAWorkerFormACluster) {
  const char* venv = getenv("MANTA_TEST_RAY_VENV");
  if (venv == nullptr)
    GTEST_SKIP() << "SKIPPED: MANTA_TEST_RAY_VENV names no Python environment with Ray";
  images_.image.kind = ImageRoot::Kind::Venv;
  images_.image.venv = venv;
  const std::string shared =
      R"("volumes":[{"name":"shm","emptyDir":{"medium":"Memory","sizeLimit":"1Gi"}},{"name":"logs","emptyDir":{}}],)";
  const std::string mounts =
      R"("volumeMounts":[{"name":"shm","mountPath":"/dev/shm"},{"name":"logs","mountPath":"/tmp/ray"}],"resources":{"limits":{"cpu":"1","memory":"3Gi"}})";
  create("head", "{" + shared +
                     R"("containers":[{"name":"c","image":"ray","command":["/bin/bash","-c","--"],
    "args":["ulimit -n 65536; ray start --head --block --dashboard-agent-listen-port=52365 --dashboard-host=0.0.0.0 --memory=3221225472 --metrics-export-port=8080 --num-cpus=1"],
    "readinessProbe":{"exec":{"command":["bash","-c","wget --tries 1 -T 2 -q -O- http://localhost:52365/api/local_raylet_healthz | grep success && wget --tries 1 -T 10 -q -O- http://localhost:8265/api/gcs_healthz | grep success"]},
      "initialDelaySeconds":10,"periodSeconds":5,"timeoutSeconds":2,"failureThreshold":10},)" +
                     mounts + "}]}");
  const auto begin = loop_.now();
  ASSERT_TRUE(until([&] { return ready("head"); }, seconds{120}))
      << status_text("head") << log("head");
  RecordProperty("head_ready_ms", std::to_string((loop_.now() - begin).count() / 1000));
  const std::string ip(string_at(*pod("head"), {"status", "podIP"}));
  api_.put(kube::kServices,
           *parse_json(
               R"({"metadata":{"name":"head-svc","namespace":"ns"},"spec":{"clusterIP":"None"}})"));
  api_.put(
      kube::kEndpointSlices,
      *parse_json(
          R"({"metadata":{"namespace":"ns","name":"head-1","labels":{"kubernetes.io/service-name":"head-svc"}},"endpoints":[{"addresses":[")" +
          ip + R"("]}]})"));
  create(
      "worker",
      "{" + shared +
          R"("initContainers":[{"name":"wait-gcs-ready","image":"ray","command":["/bin/bash","-c","--"],
      "args":["until ray health-check --address head-svc.ns.svc.cluster.local:6379 ; do sleep 1; done"]}],
    "containers":[{"name":"c","image":"ray","command":["/bin/bash","-c","--"],
    "args":["ulimit -n 65536; ray start --block --address=head-svc.ns.svc.cluster.local:6379 --dashboard-agent-listen-port=52365 --memory=3221225472 --metrics-export-port=8080 --num-cpus=1"],
    "readinessProbe":{"exec":{"command":["bash","-c","wget --tries 1 -T 2 -q -O- http://localhost:52365/api/local_raylet_healthz | grep success"]},"initialDelaySeconds":10,"periodSeconds":5,"timeoutSeconds":2},)" +
          mounts + "}]}");
  ASSERT_TRUE(until([&] { return ready("worker"); }, seconds{120}))
      << status_text("worker") << log("worker") << log("worker", {}, "wait-gcs-ready");
  const auto ran =
      exec("head", {"python", "-c",
                    "import ray; ray.init(address='auto', log_to_driver=False); print('cpus', "
                    "ray.cluster_resources()['CPU'], ray.get(ray.remote(lambda: 6*7).remote()))"});
  EXPECT_EQ(ran.first, 0) << ran.second;
  EXPECT_NE(ran.second.find("cpus 2.0 42"), std::string::npos) << ran.second;
}

TEST_F(NodeReal, HostNetworkSharesTheHostsAddresses) {
  create(
      "p",
      R"({"hostNetwork":true,"restartPolicy":"Never","containers":[{"name":"c","image":"i","command":["/bin/sh","-c","readlink /proc/self/ns/net"]}]})");
  ASSERT_TRUE(until([&] { return phase("p") == "Succeeded"; })) << status_text("p");
  EXPECT_EQ(log("p"), std::filesystem::read_symlink("/proc/self/ns/net").string() + "\n");
  EXPECT_EQ(string_at(*pod("p"), {"status", "podIP"}), string_at(*pod("p"), {"status", "hostIP"}));
}

TEST_F(NodeReal, LogsRotateAndAreReadBackWhole) {
  create(
      "p",
      R"({"restartPolicy":"Never","containers":[{"name":"c","image":"i","command":["/bin/sh","-c","i=0; while [ $i -lt 400 ]; do echo line $i; i=$((i+1)); done"]}]})");
  ASSERT_TRUE(until([&] { return phase("p") == "Succeeded"; })) << status_text("p");
  std::string want;
  for (int i = 0; i < 400; ++i) want += "line " + std::to_string(i) + "\n";
  EXPECT_EQ(log("p"), want);
  EXPECT_EQ(log("p", {.tail_lines = 2}), "line 398\nline 399\n");
  EXPECT_EQ(log("p", {.tail_lines = 300}).substr(0, 9), "line 100\n");
  EXPECT_EQ(log("p", {.limit_bytes = 4}), "line");
  EXPECT_EQ(log("p", {.timestamps = true, .tail_lines = 1}).substr(30), " line 399\n");
}

TEST_F(NodeReal, AKilledNodeLeavesNothingAfterTheNextStart) {
  stop_node();
  node_.reset();
  const pid_t child = fork();
  if (child ==
      0) {  // another node, on the same state folder, that is killed in the middle of its life
    AsioLoop loop;
    testing::TinyApi api(loop);
    SystemRandom random;
    NodeOptions options;
    options.node_name = "n";
    options.state_folder = state_ + "/s";
    options.host_names_file = hosts_;
    Node node(loop, api, images_, random, options);
    (void)run_to_end(loop, node.start());
    api.put(
        kube::kServices,
        *parse_json(
            R"({"metadata":{"name":"web","namespace":"ns"},"spec":{"clusterIP":"10.96.77.9","ports":[{"name":"h","port":80}]}})"));
    api.put(
        kube::kPods,
        *parse_json(
            R"({"metadata":{"name":"p","namespace":"ns"},"spec":{"nodeName":"n","containers":[{"name":"c","image":"i","command":["/bin/sleep","98765"]}]}})"));
    for (;;) (void)run_to_end(loop, manta::sleep(loop, seconds{1}));
  }
  auto sleepers = [] {
    int n = 0;
    for (const auto& name : list_folder("/proc")) {
      n += read_file("/proc/" + name + "/cmdline") == std::string("/bin/sleep\00098765\0", 17);
    }
    return n;
  };
  auto host_names = [this] {
    std::ifstream in(hosts_);
    return std::string((std::istreambuf_iterator<char>(in)), {});
  };
  EXPECT_TRUE(
      until([&] { return sleepers() == 1 && host_names().find("web.ns") != std::string::npos; }));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(until([&] { return sleepers() == 0; })) << "processes must die with their node";
  start_node();
  EXPECT_EQ(host_names().find("web.ns"), std::string::npos);
  stop_node();
  std::string marker;
  std::ifstream(state_ + "/s/marker") >> marker;
  EXPECT_FALSE(std::filesystem::exists("/sys/class/net/manta" + marker));
  std::ifstream cgroups(state_ + "/s/cgroups");
  for (std::string root; std::getline(cgroups, root);)
    EXPECT_FALSE(std::filesystem::exists(root)) << root;
  start_node();
}

TEST_F(NodeReal, ASecondNodeOnTheSameFolderIsRefusedAndHarmsNothing) {
  create("p", R"({"containers":[{"name":"c","image":"i","command":["/bin/sleep","1000"]}]})");
  ASSERT_TRUE(until([&] { return ready("p"); })) << status_text("p");
  Node second(loop_, api_, images_, random_,
              {.state_folder = state_ + "/s", .write_host_names = false});
  const auto started = run_to_end(loop_, second.start());
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, ErrorCode::AlreadyExists);
  (void)run_to_end(loop_, [](Node& node) -> Task<bool> {
    co_await node.stop();
    co_return true;
  }(second));
  EXPECT_EQ(exec("p", {"/bin/echo", "alive"}).second, "alive\n");
}

TEST_F(NodeReal, ANewLifeGoesOnWithItsPods) {
  create("p", R"({"containers":[{"name":"c","image":"i","command":["/bin/sleep","1000"]}]})");
  ASSERT_TRUE(until([&] { return ready("p"); })) << status_text("p");
  stop_node();
  node_.reset();
  start_node();
  ASSERT_TRUE(until([&] { return int_at(container("p"), {"restartCount"}) == 1 && ready("p"); }))
      << status_text("p");
}

}  // namespace
}  // namespace manta::local

#include "ray/builders/serve_drain.h"

#include "ray/builders/edit.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace manta::ray {
namespace {

using ::testing::HasSubstr;

struct Case {
  const char* name;
  const char* pod_spec;
  const char* deadline;  // that Ray is given, in seconds; null: the user's hook stays as it is
  std::int64_t grace;    // 0: none is given
};
const Case kCases[] = {
    {"NothingGiven", R"({"containers":[{"name":"w"}]})", "105", 120},
    {"AGraceOfTheUsers", R"({"terminationGracePeriodSeconds":600,"containers":[{}]})", "585", 600},
    {"AGraceShorterThanTheMargin", R"({"terminationGracePeriodSeconds":5,"containers":[{}]})", "1",
     5},
    {"NoGraceAtAll", R"({"terminationGracePeriodSeconds":0,"containers":[{}]})", "1", 0},
    {"AGraceOfNull", R"({"terminationGracePeriodSeconds":null,"containers":[{}]})", "105", 120},
    {"AHookOfTheUsers", R"({"containers":[{"lifecycle":{"preStop":{"sleep":{"seconds":9}}}}]})",
     nullptr, 0},
    {"AHookOfTheUsersAtTheStart",
     R"({"containers":[{"lifecycle":{"postStart":{"exec":{"command":["a"]}}}}]})", nullptr, 0},
    {"ALifecycleOfNull", R"({"containers":[{"lifecycle":null}]})", "105", 120},
    {"ASidecarsHookIsNotRays",
     R"({"containers":[{},{"lifecycle":{"preStop":{"sleep":{"seconds":9}}}}]})", "105", 120},
};

class ServeDrain : public ::testing::TestWithParam<Case> {};
TEST_P(ServeDrain, Row) {
  const auto& row = GetParam();
  const auto before = parse_json(row.pod_spec).value();
  auto after = before;
  add_serve_drain(after.as_object());
  if (!row.deadline) {
    EXPECT_EQ(dump_json(after), dump_json(before));
    return;
  }
  EXPECT_EQ(int_at(after, {"terminationGracePeriodSeconds"}), row.grace);
  const auto& containers = array_at(after, {"containers"});
  const auto& command = array_at(containers[0], {"lifecycle", "preStop", "exec", "command"});
  ASSERT_EQ(command.size(), 3u);
  EXPECT_EQ(command[0], "bash");
  EXPECT_EQ(command[1], "-c");
  EXPECT_THAT(std::string(command[2].as_string()),
              HasSubstr("deadline=" + std::string(row.deadline) + "\n"));
  for (std::size_t i = 1; i < containers.size(); ++i)
    EXPECT_EQ(dump_json(containers[i]), dump_json(array_at(before, {"containers"})[i]));
}
INSTANTIATE_TEST_SUITE_P(, ServeDrain, ::testing::ValuesIn(kCases),
                         [](auto& c) { return c.param.name; });

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  const auto at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), with);
}

/// A port of this machine that takes connections, as a head's does, as long as it lives.
class Listener {
 public:
  Listener() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(socket_, any, size), 0);
    EXPECT_EQ(::listen(socket_, 64), 0);
    EXPECT_EQ(::getsockname(socket_, any, &size), 0);
    port_ = ntohs(address.sin_port);
  }
  ~Listener() { ::close(socket_); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  int port() const { return port_; }

 private:
  int socket_;
  int port_ = 0;
};

/// Where the hook runs: a folder with a /proc of its own, and a `ray` that ends as it is told.
class Node {
 public:
  Node() {
    char name[] = "/tmp/serve_drain_test.XXXXXX";
    folder_ = mkdtemp(name);
    std::filesystem::create_directories(folder_ / "proc/7");
    std::filesystem::create_directories(folder_ / "proc/1/fd");
    std::filesystem::create_directories(folder_ / "bin");
    // The last word of `exits` counts from then on; 0 ends what is served, too.
    command("ray", R"sh(echo "$*" >>calls
read -r code rest <exits
[ -z "$rest" ] || echo "$rest" >exits
[ "$code" != 0 ] || rm proc/7/cmdline
echo "what ray says"
exit "$code")sh");
    command("sleep", "");
  }
  ~Node() { std::filesystem::remove_all(folder_); }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  void lose_log() { std::filesystem::remove_all(folder_ / "proc/1"); }
  void serve() { write("proc/7/cmdline", "ray::ServeReplica:app:Fruit"); }
  void write(const std::string& name, std::string_view text) {
    std::ofstream(folder_ / name) << text;
  }
  std::string read(const std::string& name) const {
    std::stringstream text;
    text << std::ifstream(folder_ / name).rdbuf();
    return text.str();
  }
  /// True: the hook ended with 0.
  bool run(std::string script, int port) {
    script = replaced(std::move(script), "/proc/[0-9]*", "proc/[0-9]*");
    script = replaced(std::move(script), "log=/proc", "log=proc");
    write("hook", script);
    return std::system(
               fmt::format("cd {} && PATH=$PWD/bin:$PATH RAY_ADDRESS=127.0.0.1:{} bash hook",
                           folder_.string(), port)
                   .c_str()) == 0;
  }

 private:
  void command(const std::string& name, std::string_view script) {
    write("bin/" + name, fmt::format("#!/bin/sh\n{}\n", script));
    std::filesystem::permissions(folder_ / "bin" / name, std::filesystem::perms::owner_all);
  }

  std::filesystem::path folder_;
};

struct HookCase {
  const char* name;
  bool serves;
  const char* exits;  // of `ray drain-node`, one after the other
  std::size_t calls;
  bool head = true;
  bool served_on = false;  // when the hook has ended
  bool log = true;         // false: the container's log is not ours to write
};
const HookCase kHooks[] = {
    {"NothingIsServed", false, "0", 0},
    {"Drained", true, "0", 1},
    {"AskedAgain", true, "1 1 124 0", 4},
    {"ARayWithoutDrainNode", true, "2", 1, true, true},
    {.name = "NoLog", .serves = true, .exits = "1 0", .calls = 2, .log = false},
    {"NoHead", true, "1", 1, false, true},
};
class DrainHook : public ::testing::TestWithParam<HookCase> {};
// RS-24
TEST_P(DrainHook, Row) {
  const auto& row = GetParam();
  auto pod = parse_json(R"({"containers":[{}]})").value();
  add_serve_drain(pod.as_object());
  std::string script(array_at(pod, {"containers"})[0]
                         .at("lifecycle")
                         .at("preStop")
                         .at("exec")
                         .at("command")
                         .as_array()[2]
                         .as_string());
  script =
      replaced(std::move(script), "answered=0", "answered=-10");  // no patience with a lost head

  const Listener head;
  Node node;
  if (row.serves) node.serve();
  if (!row.log) node.lose_log();
  node.write("exits", row.exits);
  EXPECT_TRUE(node.run(script, row.head ? head.port() : 1));
  const auto calls = node.read("calls");
  EXPECT_EQ(std::ranges::count(calls, '\n'), static_cast<std::ptrdiff_t>(row.calls)) << calls;
  EXPECT_EQ(node.read("proc/7/cmdline").empty(), !row.served_on);
  if (row.calls > 0) {
    EXPECT_THAT(calls, ::testing::StartsWith("drain-node --reason DRAIN_NODE_REASON_PREEMPTION "));
    EXPECT_THAT(calls, ::testing::ContainsRegex("--deadline-remaining-seconds 10[0-9]\n"));
    EXPECT_THAT(node.read("proc/1/fd/1"), HasSubstr(row.log ? "what ray says" : ""));
  }
}
INSTANTIATE_TEST_SUITE_P(, DrainHook, ::testing::ValuesIn(kHooks),
                         [](auto& c) { return c.param.name; });

}  // namespace
}  // namespace manta::ray

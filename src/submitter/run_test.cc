// The whole run against a dashboard on loopback that answers connection by connection as a test
// scripts it.
#include "submitter/run.h"

#include "submitter/frames.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace manta::submitter {
namespace {

std::string http(int status, const std::string& body) {
  return "HTTP/1.1 " + std::to_string(status) +
         " Whatever\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}
std::string frame(int first, const std::string& data) {
  return std::string{static_cast<char>(first), static_cast<char>(data.size())} + data;
}
std::string log_stream(const std::string& text, bool whole = true) {
  return "HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n\r\n" + frame(0x81, text) +
         (whole ? frame(0x88, "\x03\xe8") : "");
}
const std::string kTaken = http(200, R"({"job_id":"j-1","submission_id":"j-1"})");
std::string job(const char* status) {
  return http(200, std::string(R"({"status":")") + status + R"(","message":"why"})");
}

// Answers the n-th connection with the n-th text, then closes it.
class ScriptedRay {
 public:
  explicit ScriptedRay(std::vector<std::string> answers) : answers_(std::move(answers)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    socklen_t size = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    ::listen(listener_, 8);
    thread_ = std::thread([this] { serve(); });
  }
  ~ScriptedRay() {
    stop_ = true;
    thread_.join();
    ::close(listener_);
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  std::vector<std::string> requests = {};  // read once the run is over

 private:
  void serve() {
    for (const auto& answer : answers_) {
      pollfd wanted{.fd = listener_, .events = POLLIN, .revents = 0};
      while (!stop_ && ::poll(&wanted, 1, 20) == 0) {
      }
      if (stop_) return;
      const int peer = ::accept(listener_, nullptr, nullptr);
      std::string request;
      char buffer[4096];
      while (!is_whole(request)) {
        const auto got = ::recv(peer, buffer, sizeof buffer, 0);
        if (got <= 0) break;
        request.append(buffer, static_cast<std::size_t>(got));
      }
      requests.push_back(request);
      (void)::send(peer, answer.data(), answer.size(), MSG_NOSIGNAL);
      ::shutdown(peer, SHUT_WR);
      while (::recv(peer, buffer, sizeof buffer, 0) > 0) {
      }
      ::close(peer);
    }
  }
  static bool is_whole(const std::string& request) {
    const auto end = request.find("\r\n\r\n");
    if (end == std::string::npos) return false;
    const auto length = request.find("Content-Length: ");
    const auto body = length == std::string::npos ? 0 : std::stoul(request.substr(length + 16));
    return request.size() >= end + 4 + body;
  }

  std::vector<std::string> answers_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

struct Outcome {
  int code = 0;
  std::string out = {}, err = {};
  std::vector<std::string> requests = {};
};

Outcome run_against(std::vector<std::string> answers, std::vector<std::string> words = {"echo"},
                    const std::string& token = {}) {
  Outcome outcome;
  ScriptedRay ray(std::move(answers));
  outcome.code =
      run(words, {.environment = [&](std::string_view name) -> std::optional<std::string> {
                    if (name == "RAY_DASHBOARD_ADDRESS") return ray.address();
                    if (name == "RAY_JOB_SUBMISSION_ID") return "j-1";
                    if (name == "RAY_AUTH_TOKEN" && !token.empty()) return token;
                    return std::nullopt;
                  },
                  .out = [&](std::string_view text) { outcome.out += text; },
                  .err = [&](std::string_view text) { outcome.err += text; },
                  .sleep = [](std::chrono::milliseconds) {},
                  .patience = 3});
  outcome.requests = ray.requests;
  return outcome;
}

TEST(SubmitterRun, SubmitsFollowsAndSucceeds) {
  const auto got =
      run_against({kTaken, log_stream("hello\n"), job("SUCCEEDED")}, {"--", "echo a && b"}, "tok");
  EXPECT_EQ(got.code, 0) << got.err;
  EXPECT_EQ(got.out,
            "SUCC -- Job 'j-1' submitted successfully\nINFO -- Tailing logs until the job "
            "finishes:\nhello\nSUCC -- Job 'j-1' succeeded\n");
  ASSERT_EQ(got.requests.size(), 3u);
  EXPECT_TRUE(got.requests[0].starts_with("POST /api/jobs/ HTTP/1.1\r\n"));
  EXPECT_NE(got.requests[0].find("X-Ray-Authorization: Bearer tok\r\n"), std::string::npos);
  EXPECT_NE(got.requests[0].find(R"("entrypoint":"echo a && b")"), std::string::npos);
  EXPECT_TRUE(got.requests[1].starts_with("GET /api/jobs/j-1/logs/tail HTTP/1.1\r\n"));
  EXPECT_TRUE(got.requests[2].starts_with("GET /api/jobs/j-1 HTTP/1.1\r\n"));
}

TEST(SubmitterRun, ExitsWithTheJobsFailure) {
  const auto got = run_against({kTaken, log_stream("oh\n"), job("FAILED")});
  EXPECT_EQ(got.code, 1);
  EXPECT_EQ(got.err, "ERROR --  Job 'j-1' failed: why\n");
}

TEST(SubmitterRun, AStoppedJobIsNoFailure) {
  EXPECT_EQ(run_against({kTaken, log_stream(""), job("STOPPED")}).code, 0);
}

TEST(SubmitterRun, ASecondSubmitterFollowsTheSameJob) {
  const auto got =
      run_against({http(500, "ValueError: Job j-1 exists. Please use a different submission_id."),
                   log_stream("hello\n"), job("SUCCEEDED")});
  EXPECT_EQ(got.code, 0);
  EXPECT_TRUE(got.out.starts_with("INFO -- Job 'j-1' has already been submitted, tailing logs.\n"));
}

TEST(SubmitterRun, ABrokenStreamIsTakenUpWhereItEnded) {
  const auto got = run_against({kTaken, log_stream("one\ntw", false), job("RUNNING"),
                                log_stream("one\ntwo\nthree\n"), job("SUCCEEDED")});
  EXPECT_EQ(got.code, 0);
  EXPECT_NE(got.out.find("finishes:\none\ntwo\nthree\nSUCC"), std::string::npos) << got.out;
}

TEST(SubmitterRun, AStreamThatEndsEarlyDecidesNothing) {
  const auto got =
      run_against({kTaken, log_stream("a"), job("RUNNING"), log_stream("ab"), job("FAILED")});
  EXPECT_EQ(got.code, 1);
  EXPECT_NE(got.out.find("finishes:\nab"), std::string::npos) << got.out;
}

TEST(SubmitterRun, AnsweredRefusalsAreFinal) {
  const auto got = run_against({http(403, "no")});
  EXPECT_EQ(got.code, 1);
  EXPECT_EQ(got.err, "ERROR --  SubmitJob fail: 403 no\n");
}

TEST(SubmitterRun, AForgottenJobIsAnError) {
  const auto got = run_against({kTaken, log_stream("a", false), http(404, "")});
  EXPECT_EQ(got.code, 1);
  EXPECT_NE(got.err.find("does not exist"), std::string::npos);
}

TEST(SubmitterRun, ADashboardThatNeverAnswersIsGivenUp) {
  const auto got = run_against({"", "", ""});
  EXPECT_EQ(got.code, 1);
  EXPECT_NE(got.err.find("closed the connection"), std::string::npos) << got.err;
}

TEST(SubmitterRun, AWrongCommandLineIsTold) {
  const auto got = run_against({}, {"--no-such"});
  EXPECT_EQ(got.code, 2);
  EXPECT_NE(got.err.find("usage:"), std::string::npos);
  EXPECT_TRUE(got.requests.empty());
}

TEST(SubmitterRun, MalformedResourcesSendNothing) {
  const auto got = run_against({}, {"--entrypoint-resources", "{\"a\":\"b\"}", "x"});
  EXPECT_EQ(got.code, 1);
  EXPECT_TRUE(got.requests.empty());
}

}  // namespace
}  // namespace manta::submitter

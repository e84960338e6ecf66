#include "submitter/run.h"

#include "submitter/dashboard.h"
#include "submitter/job_body.h"

namespace manta::submitter {
namespace {

using namespace std::chrono_literals;

constexpr auto kPause = 2s;

bool has_ended(const Dashboard::State& state) {
  return state.status == "SUCCEEDED" || state.status == "FAILED" || state.status == "STOPPED";
}

// The dashboard may answer a moment later: it is restarting, or its name is not known yet.
bool may_pass(const Error& error) {
  return error.code == ErrorCode::Unavailable || error.code == ErrorCode::Timeout;
}

int give_up(const Surroundings& around, const Error& error) {
  around.err("ERROR --  " + error.message + "\n");
  return 1;
}

Result<Dashboard::Submitted> submit(Dashboard& ray, const Json& body, const Surroundings& around) {
  for (int tries = 1;; ++tries) {
    auto submitted = ray.submit(body);
    if (submitted || !may_pass(submitted.error()) || tries >= around.patience) return submitted;
    around.sleep(kPause);
  }
}

// Ray tells the log from its beginning each time: what was shown is not shown again.
class Shown {
 public:
  explicit Shown(const Surroundings& around) : around_(around) {}
  void begin() { seen_ = 0; }
  void take(std::string_view piece) {
    const auto start = seen_;
    seen_ += piece.size();
    if (seen_ <= shown_) return;
    around_.out(piece.substr(start < shown_ ? shown_ - start : 0));
    shown_ = seen_;
  }

 private:
  const Surroundings& around_;
  std::uint64_t seen_ = 0;   // of this stream
  std::uint64_t shown_ = 0;  // of the log
};

// Follows the log until the job has ended by Ray's own account.
Result<Dashboard::State> follow(Dashboard& ray, const std::string& id, const Surroundings& around) {
  Shown shown(around);
  for (int silent = 0;;) {
    shown.begin();
    const auto tailed = ray.tail(id, [&](std::string_view piece) { shown.take(piece); });
    auto state = ray.state(id);
    if (state && has_ended(*state)) return state;
    if (!state && !may_pass(state.error())) return state;
    // An answer starts the count anew; so does a stream that could be read.
    silent = state || tailed ? 0 : silent + 1;
    if (silent >= around.patience) return state;
    around.sleep(kPause);
  }
}

int report(const Surroundings& around, const std::string& id, const Dashboard::State& state) {
  if (state.status == "SUCCEEDED") {
    around.out("SUCC -- Job '" + id + "' succeeded\n");
    return 0;
  }
  if (state.status == "STOPPED") {
    around.out("INFO -- Job '" + id + "' was stopped\n");
    return 0;
  }
  around.err("ERROR --  Job '" + id + "' failed: " + state.message + "\n");
  return 1;
}

}  // namespace

int run(const std::vector<std::string>& words, const Surroundings& around) {
  const auto arguments = parse_arguments(words);
  if (!arguments) {
    around.err(arguments.error().message + "\n" + std::string(kUsage));
    return 2;
  }
  if (arguments->help) {
    around.out(kUsage);
    return 0;
  }
  auto target = read_target(around.environment);
  if (!target) return give_up(around, target.error());
  const auto body = job_body(*arguments, target->submission_id);
  if (!body) return give_up(around, body.error());

  Dashboard ray(std::move(*target));
  const auto submitted = submit(ray, *body, around);
  if (!submitted) return give_up(around, submitted.error());
  const auto& id = submitted->job_id;
  around.out(submitted->already
                 ? "INFO -- Job '" + id + "' has already been submitted, tailing logs.\n"
                 : "SUCC -- Job '" + id + "' submitted successfully\n");
  around.out("INFO -- Tailing logs until the job finishes:\n");
  const auto state = follow(ray, id, around);
  if (!state) return give_up(around, state.error());
  return report(around, id, *state);
}

}  // namespace manta::submitter

// PF-06: how much the operator logs in an hour, and that every change of a state is among it.
//
// The reference logs in every pass over an object, and passes over a Running RayJob every 3 s
// (spec/04), over a RayService every 2 s (spec/05): "several lines for every pass of every object".
// Three lines of 200 bytes a pass, and no line for what else happens, are less than it writes: its
// JSON lines alone have 190 bytes of level, time, logger, the object's name and namespace, and the
// reconcileID.
#include "base/log.h"
#include "manifests.h"
#include "operator/log_sink.h"
#include "world.h"

#include <gtest/gtest.h>

#include <memory>

namespace manta::integration {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kPassesOfAJob = 3600 / 3;
constexpr std::size_t kLeastBytesAPass = 3 * 200;

struct Lines {
  std::string all = {};
  std::size_t count = 0;
};

class Kept final : public log::Sink {
 public:
  Kept(std::shared_ptr<Lines> lines, Loop& loop) : lines_(std::move(lines)), loop_(loop) {}
  void write(log::Level level, std::string_view message,
             std::initializer_list<log::Field> fields) override {
    if (level < log::Level::Info) return;
    lines_->all += operator_::format_log_line(operator_::LogFormat::Json, level, loop_.now(),
                                              message, fields) +
                   "\n";
    ++lines_->count;
  }

 private:
  std::shared_ptr<Lines> lines_;
  Loop& loop_;
};

TEST(LogVolume, PF_06_AnHourIsATwentiethAndShowsEveryTransition) {
  World world;
  const auto lines = std::make_shared<Lines>();
  log::set_sink(std::make_unique<Kept>(lines, world.loop()));
  log::set_level(log::Level::Info);
  world.apply(kCluster).run_until(cluster_is("c", "ready"));
  world.apply(kJob).run_until(job_is("j", "Running"));
  world.pass(1h);
  world.kubelet().evict(world.head("c"));
  world.run_until({"the head is lost", [](const World& w) { return w.head("c").empty(); }}, 1min);
  world.run_until(cluster_is("c", "ready"));
  world.end_job("j", "SUCCEEDED").run_until(job_is("j", "Complete"));
  world.settle();
  log::set_level(log::Level::Error);  // as the simulator has it
  log::set_sink(nullptr);

  for (const auto* told :
       {"state: (none) -> ready", "HeadPodReady: (none) -> ", "HeadPodReady: False -> True",
        "HeadPodReady: True -> False", "jobDeploymentStatus: (none) -> Initializing",
        "jobDeploymentStatus: Initializing -> Running",
        "jobDeploymentStatus: Running -> Complete; jobStatus: "})
    EXPECT_NE(lines->all.find(told), std::string::npos) << told << "\n" << lines->all;
  EXPECT_EQ(lines->all.find(R"(:"")"), std::string::npos) << "fields that say nothing";
  EXPECT_LT(lines->all.size() * 20, kPassesOfAJob * kLeastBytesAPass) << lines->all;
  EXPECT_GT(lines->count, 10u);
}

}  // namespace
}  // namespace manta::integration

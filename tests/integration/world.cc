#include "world.h"

#include "base/yaml.h"
#include "write_faults.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace manta::integration {

using namespace std::chrono_literals;

World::~World() {
  finish();
  for (const auto& law : laws().broken()) ADD_FAILURE() << law << "\n" << describe();
}

WorldOptions World::observed(WorldOptions options) {
  if (!options.observer) options.observer = &purposes_seen();
  return options;
}

World& World::apply(std::string_view yaml) {
  auto documents = parse_yaml(yaml);
  MANTA_CHECK(documents.has_value());
  for (auto& object : *documents) {
    const auto made = put(std::move(object));
    EXPECT_TRUE(made) << made.error().message;
  }
  return *this;
}

World& World::patch(std::string_view kind, std::string_view name, std::string_view merge_patch) {
  auto body = parse_yaml_one(merge_patch);
  MANTA_CHECK(body.has_value());
  const auto done = merge(kind, name, std::move(*body));
  EXPECT_TRUE(done) << done.error().message;
  return *this;
}

World& World::remove(std::string_view kind, std::string_view name, kube::Propagation propagation) {
  const auto done = erase(kind, name, propagation);
  EXPECT_TRUE(done) << done.error().message;
  return *this;
}

World& World::pass(Duration span) {
  sim::World::pass(span);
  return *this;
}

World& World::run_until(const Until& condition, Duration limit) {
  EXPECT_TRUE(run([&] { return condition.holds(*this); }, limit))
      << "never came true: " << condition.text << "\n"
      << describe();
  return *this;
}

World& World::settle() {
  EXPECT_TRUE(sim::World::settle()) << "the world does not settle\n" << describe();
  EXPECT_TRUE(laws().broken().empty())
      << fmt::format("{}\n", fmt::join(laws().broken(), "\n")) << describe();
  return *this;
}

World& World::expect_rest() {
  const auto before = writes().size();
  pass(10min);
  std::string late;
  for (auto at = before; at < writes().size(); ++at) late += writes()[at].to_string() + "\n";
  EXPECT_EQ(writes().size(), before) << late;
  return *this;
}

World& World::crash() {
  sim::World::crash();
  return *this;
}

World& World::stop_operator() {
  sim::World::stop_operator();
  return *this;
}

World& World::start_operator() {
  sim::World::start_operator();
  return *this;
}

World& World::end_job(std::string_view job, std::string status) {
  end_submitted(id_of(job), std::move(status));
  return *this;
}

}  // namespace manta::integration

#include "controllers/rayjob/valid_jobs.h"

#include "controllers/rayjob/testing.h"

namespace manta::controllers::rayjob {
namespace {

using testing::World;

// RJ-21: versions of one RayJob as the watch tells them.
class ValidJobsTest : public ::testing::Test {
 protected:
  // What is known to be valid once this version was looked at: its ttl; -2 when nothing is.
  int look(std::int64_t generation, std::int32_t ttl, std::string uid = "j-uid") {
    World world;
    world.job.meta.uid = std::move(uid);
    world.job.meta.generation = generation;
    world.job.meta.resource_version = ++version_;
    world.job.spec.ttlSecondsAfterFinished = ttl;  // below zero: invalid
    auto seen = world.seen();
    jobs_.look_at(seen, world.settings);
    valid_version_ = seen.last_valid ? seen.last_valid->meta.resource_version : 0;
    return seen.last_valid ? seen.last_valid->spec.ttlSecondsAfterFinished : -2;
  }
  ValidJobs jobs_ = {};
  std::int64_t version_ = 0;
  std::int64_t valid_version_ = 0;
};

TEST_F(ValidJobsTest, TheNewestValidSpecIsKept) {
  EXPECT_EQ(look(1, 10), 10);
  EXPECT_EQ(look(2, -1), 10);
  EXPECT_EQ(look(3, -1), 10);
  EXPECT_EQ(look(4, 20), 20);
  EXPECT_EQ(look(5, -1), 20);
}

TEST_F(ValidJobsTest, OneThatWasNeverValidIsUnknown) {
  EXPECT_EQ(look(1, -1), -2);
  EXPECT_EQ(look(1, -1), -2);
}

TEST_F(ValidJobsTest, OfOneSpecTheNewestObjectIsKept) {
  look(1, 10);
  look(1, 10);  // its status changed
  EXPECT_EQ(valid_version_, 2);
  look(2, -1);
  EXPECT_EQ(valid_version_, 2);
}

TEST_F(ValidJobsTest, AnotherOfThatNameIsAnother) {
  EXPECT_EQ(look(1, 10), 10);
  EXPECT_EQ(look(1, -1, "its successor"), -2);
}

TEST_F(ValidJobsTest, OneThatIsGoneIsForgotten) {
  EXPECT_EQ(look(1, 10), 10);
  jobs_.forget({"ns", "j"});
  EXPECT_EQ(look(2, -1), -2);
}

TEST_F(ValidJobsTest, AServerWithoutGenerationsIsJudgedEachTime) {
  EXPECT_EQ(look(0, 10), 10);
  EXPECT_EQ(look(0, -1), 10);
  EXPECT_EQ(look(0, 20), 20);
}

}  // namespace
}  // namespace manta::controllers::rayjob

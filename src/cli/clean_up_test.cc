#include "cli/clean_up.h"

#include <gtest/gtest.h>

namespace manta::cli {
namespace {

AppliedObject object(std::string kind, std::string name, bool created) {
  return {.resource = {.kind = std::move(kind)},
          .key = {"default", std::move(name)},
          .created = created};
}

TEST(DeletedAgain, NamesWhatTheRunMade) {
  EXPECT_EQ(deleted_again({}), "");
  EXPECT_EQ(deleted_again({object("ConfigMap", "shared", false)}), "");
  EXPECT_EQ(deleted_again({object("ConfigMap", "code", true), object("ConfigMap", "shared", false),
                           object("RayJob", "sample", true)}),
            "deleted again: configmap/code, rayjob/sample with its cluster and Pods (--keep leaves "
            "everything)");
}

}  // namespace
}  // namespace manta::cli

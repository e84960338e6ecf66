#include "operator/gates.h"

#include <gtest/gtest.h>

namespace manta::operator_ {
namespace {

// The gates that differ from their defaults, as "+A -B"; or the error.
std::string outcome(std::string_view text) {
  const auto gates = parse_gates(text);
  if (!gates) return gates.error().message;
  std::string out;
  for (const auto& [name, on] : default_gates())
    if (const bool now = gates->at(name); now != on)
      out += (out.empty() ? "" : " ") + std::string(now ? "+" : "-") + name;
  return out;
}

struct Case {
  const char* name;
  const char* text;
  const char* want;
};
const Case kCases[] = {
    {"NoneNamed", "", ""},
    {"OneOn", "RayCronJob=true", "+RayCronJob"},
    {"OneOff", "RayJobDeletionPolicy=False", "-RayJobDeletionPolicy"},
    {"BlanksAndEmptyItems", " RayCronJob = t ,, ", "+RayCronJob"},
    {"LastWins", "RayCronJob=true,RayCronJob=false", ""},
    {"AllBetaOffButOne", "AllBeta=false,RayMultiHostIndexing=true",
     "-RayClusterStatusConditions -RayJobDeletionPolicy -RayServiceIncrementalUpgrade"},
    {"NamedBeatsAllWhateverTheOrder", "RayMultiHostIndexing=true,AllBeta=false",
     "-RayClusterStatusConditions -RayJobDeletionPolicy -RayServiceIncrementalUpgrade"},
    {"NoValue", "RayCronJob", "missing bool value for RayCronJob"},
    {"BadValue", "RayCronJob=yes",
     "invalid value of RayCronJob=yes, err: strconv.ParseBool: parsing \"yes\": invalid syntax"},
    {"Unknown", "Nope=true",
     "unrecognized feature gate: Nope; there are RayClusterStatusConditions, RayJobDeletionPolicy, "
     "RayMultiHostIndexing, RayServiceIncrementalUpgrade, RayCronJob, SidecarSubmitterRestart, "
     "RayClusterNetworkPolicy, GCSFaultToleranceEmbeddedStorage, RayClusterMTLS, "
     "RayClusterHistoryServer, KubernetesWAS, AllAlpha, AllBeta, and those of docs/differences.md"},
    {"Misspelt", "rayCronJobs=true",
     "unrecognized feature gate: rayCronJobs; is RayCronJob meant?"},
};
class Gate : public testing::TestWithParam<Case> {};
TEST_P(Gate, Row) { EXPECT_EQ(outcome(GetParam().text), GetParam().want); }
INSTANTIATE_TEST_SUITE_P(, Gate, testing::ValuesIn(kCases), [](auto& c) { return c.param.name; });

}  // namespace
}  // namespace manta::operator_

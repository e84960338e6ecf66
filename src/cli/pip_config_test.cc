#include "cli/pip_config.h"

#include <gtest/gtest.h>

#include <map>

namespace manta::cli {
namespace {

constexpr const char* kHead = "# Made by manta from this machine's pip configuration.\n[global]\n";

struct Case {
  const char* name;
  std::vector<std::string> files;
  std::map<std::string, std::string, std::less<>> environment;
  const char* want;
};
const Case kCases[] = {
    {"Nothing", {}, {}, ""},
    {"FoldersOfThisMachineStayBehind",
     {"[global]\nfind-links = /opt/wheels\ncache-dir=/c\ncert = /etc/ssl/ca.pem\n"},
     {},
     "cert = /etc/ssl/ca.pem\n"},
    {"LaterFileWins",
     {"[global]\nindex-url = https://one\n", "[install]\nindex_url: https://two\n"},
     {},
     "index-url = https://two\n"},
    {"EnvironmentWins",
     {"[global]\nindex-url = https://one\n"},
     {{"PIP_INDEX_URL", "https://three"}, {"PIP_FIND_LINKS", "/opt/wheels"}},
     "index-url = https://three\n"},
    {"ValuesOfSeveralLines",
     {"# note\n[global]\nextra-index-url =\n    https://a\n\thttps://b\n[list]\nindex-url=no\n"},
     {},
     "extra-index-url = https://a https://b\n"},
    {"ProxyOfTheEnvironment",
     {},
     {{"HTTPS_PROXY", "http://proxy:3128"}},
     "proxy = http://proxy:3128\n"},
    {"OwnProxyBeforeTheEnvironments",
     {"[global]\nproxy = http://mine\n"},
     {{"HTTPS_PROXY", "http://proxy:3128"}},
     "proxy = http://mine\n"},
    {"NoLineOfItsOwnByAVariable",
     {},
     {{"PIP_INDEX_URL", "https://x\n[install]\nno-deps = yes"}},
     ""},
};
class PipConfig : public testing::TestWithParam<Case> {};
TEST_P(PipConfig, Row) {
  const auto& row = GetParam();
  const auto text = build_pip_config(row.files, [&](std::string_view name) {
    const auto found = row.environment.find(name);
    return found == row.environment.end() ? std::nullopt : std::optional(found->second);
  });
  EXPECT_EQ(text, std::string(kHead) + row.want);
}
INSTANTIATE_TEST_SUITE_P(, PipConfig, testing::ValuesIn(kCases),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace manta::cli

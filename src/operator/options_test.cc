#include "operator/options.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace manta::operator_ {
namespace {

std::string config(std::string_view text) {
  Options options;
  const auto applied = apply_config_file(options, text);
  if (!applied) return applied.error().message;
  return options.metrics_addr + " " + options.probe_addr +
         (options.leader_election ? " elect " : " alone ") +
         std::to_string(options.reconcile_concurrency) + " " +
         std::to_string(options.qps).substr(0, 5) + " " + std::to_string(options.burst);
}

struct Case {
  const char* name;
  const char* text;
  const char* want;
};
const Case kCases[] = {
    {"Minimal", "apiVersion: config.ray.io/v1alpha1\nkind: Configuration\n",
     ":8080 :8082 elect 1 -1.00 200"},
    {"Empty", "", ":8080 :8082 elect 1 -1.00 200"},
    {"CommentsOnly", "# nothing yet\n", ":8080 :8082 elect 1 -1.00 200"},
    {"TwoDocuments", "qps: 5\n---\nqps: 6\n", "the configuration file must hold one object"},
    {"KindMayBeLeftOut", "qps: 150.5\nburst: 300\n", ":8080 :8082 elect 1 150.5 300"},
    {"Json", R"({"enableLeaderElection": false, "metricsAddr": ":1", "reconcileConcurrency": 100})",
     ":1 :8082 alone 100 -1.00 200"},
    {"ZeroQpsIsKept", "qps: 0\nburst: 0\n", ":8080 :8082 elect 1 0.000 0"},
    {"UnknownFieldIsIgnored", "nope: 1\n", ":8080 :8082 elect 1 -1.00 200"},
    {"FractionForWhole", "burst: 300.5\n",
     "json: cannot unmarshal number 300.5 into Go struct field Configuration.burst of type int"},
    {"BoolForWhole", "reconcileConcurrency: true\n",
     "json: cannot unmarshal bool into Go struct field Configuration.reconcileConcurrency of type "
     "int"},
    {"WholeThoughWithAPoint", "burst: 5.0\nreconcileConcurrency: 1e300\n",
     ":8080 :8082 elect 2147483647 -1.00 5"},
    {"WrongTypeOfWhatHasNoEffect", "deleteRayJobAfterJobFinishes: 3\n",
     "json: cannot unmarshal number into Go struct field "
     "Configuration.deleteRayJobAfterJobFinishes of type bool"},
    {"WrongTypeOfAnEncoder", "logStdoutEncoder: [json]\n",
     "json: cannot unmarshal array into Go struct field Configuration.logStdoutEncoder of type "
     "string"},
    {"TextForAContainer", "headSidecarContainers: [fluentbit]\n",
     "json: cannot unmarshal string into Go struct field Configuration.headSidecarContainers of "
     "type v1.Container"},
    {"NumberForALabel", "defaultPodLabels: {a: 5}\n",
     "json: cannot unmarshal number into Go struct field Configuration.defaultPodLabels of type "
     "string"},
    {"OtherKind", "apiVersion: v1\nkind: Pod\n",
     "no kind \"Pod\" is registered for version \"v1\""},
};
class ConfigText : public testing::TestWithParam<Case> {};
TEST_P(ConfigText, Row) { EXPECT_EQ(config(GetParam().text), GetParam().want); }
INSTANTIATE_TEST_SUITE_P(, ConfigText, testing::ValuesIn(kCases),
                         [](auto& c) { return c.param.name; });

TEST(ConfigFile, ReplacesFlagsButKeepsGates) {
  auto command =
      parse_command_line({"--metrics-addr=:9", "--feature-gates=RayCronJob=true", "--config=f"});
  ASSERT_TRUE(command.options);
  ASSERT_TRUE(apply_config_file(*command.options, "qps: 5"));
  EXPECT_EQ(command.options->metrics_addr, ":8080");
  EXPECT_EQ(command.options->feature_gates, "RayCronJob=true");
}

TEST(CommandLine, EndsWithGosExitCodes) {
  EXPECT_EQ(parse_command_line({"--help"}).exit_code, 0);
  EXPECT_EQ(parse_command_line({"--nope"}).exit_code, 2);
  EXPECT_EQ(parse_command_line({"--zap-encoder=xml"}).exit_code, 2);
  EXPECT_EQ(parse_command_line({"--zap-log-level=3"}).options->log_verbosity, 3);
}

TEST(CommandLine, TellsWhatItIgnores) {
  const auto command = parse_command_line({"--enable-metrics", "true", "--burst=3"});
  ASSERT_TRUE(command.options);
  EXPECT_TRUE(command.options->enable_metrics);
  EXPECT_EQ(command.options->burst, 200);
  EXPECT_EQ(command.ignored, (std::vector<std::string>{"true", "--burst=3"}));
  EXPECT_TRUE(parse_command_line({"--burst=3"}).ignored.empty());
}

TEST(CommandLine, DevelopmentMeansDebugUnlessALevelIsGiven) {
  EXPECT_EQ(parse_command_line({"--zap-devel"}).options->log_verbosity, 1);
  EXPECT_EQ(parse_command_line({"--zap-devel", "--zap-log-level=info"}).options->log_verbosity, 0);
  EXPECT_EQ(parse_command_line({"--zap-log-level=panic"}).options->log_verbosity, -2);
}

struct BadOption {
  const char* name;
  std::string argument;
  const char* want;  // empty: it is fine
};
const BadOption kOptions[] = {
    {"Burst", "--burst=-1", "burst is -1"},
    {"NoBurst", "--burst=0", ""},
    {"Qps", "--qps=nan", "qps is nan"},
    {"EndlessQps", "--qps=inf", "qps is inf"},
    {"NoLimit", "--qps=-1", ""},
    {"Concurrency", "--reconcile-concurrency=0", ""},  // counts as 1, and is told
    {"Namespaces", "--watch-namespace=a,b", ""},
    {"BlankBefore", "--watch-namespace=a, b", "watch-namespace has \" b\""},
    {"Capitals", "--watch-namespace=A", "watch-namespace has \"A\""},
    {"TrailingComma", "--watch-namespace=a,", ""},
};
class CheckOptions : public testing::TestWithParam<BadOption> {};
TEST_P(CheckOptions, Row) {
  const auto command = parse_command_line({GetParam().argument});
  ASSERT_TRUE(command.options) << command.text;
  const auto ok = check_options(*command.options);
  if (std::string_view(GetParam().want).empty())
    EXPECT_TRUE(ok) << ok.error().message;
  else if (ok)
    ADD_FAILURE() << "accepted";
  else
    EXPECT_EQ(ok.error().message.substr(0, std::string_view(GetParam().want).size()),
              GetParam().want);
}
INSTANTIATE_TEST_SUITE_P(, CheckOptions, testing::ValuesIn(kOptions),
                         [](auto& c) { return c.param.name; });

TEST(Namespaces, AnEmptyElementMeansAll) {
  const auto of = [](std::string text) {
    Options options;
    options.watch_namespace = std::move(text);
    return options.namespaces();
  };
  using List = std::vector<std::string>;
  EXPECT_EQ(of(""), (List{""}));
  EXPECT_EQ(of("a"), (List{"a"}));
  EXPECT_EQ(of("a,b"), (List{"a", "b"}));
  EXPECT_EQ(of("a,"), (List{""}));
  EXPECT_EQ(of("a, b"), (List{"a", " b"}));
}

std::string scheduler(Options options) {
  const auto settings = make_settings(options, [](std::string_view) { return std::nullopt; });
  return settings ? settings->batch_scheduler : settings.error().message;
}

TEST(BatchScheduler, IsOneOfFour) {
  EXPECT_EQ(scheduler({}), "");
  EXPECT_EQ(scheduler({.batch_scheduler = "yunikorn"}), "yunikorn");
  EXPECT_EQ(scheduler({.enable_batch_scheduler = true}), "volcano");
  EXPECT_EQ(scheduler({.batch_scheduler = "default"}), "scheduler is not supported, name=default");
  EXPECT_NE(scheduler({.enable_batch_scheduler = true, .batch_scheduler = "volcano"})
                .find("both feature flags"),
            std::string::npos);
}

TEST(Settings, ReadTheEnvironment) {
  const kube::StringMap environment = {
      {"ENABLE_RANDOM_POD_DELETE", "TRUE"},
      {"ENABLE_GCS_FT_REDIS_CLEANUP", "False"},
      {"RAYJOB_STATUS_CHECK_TIMEOUT_SECONDS", "-3"},
      {"RAYJOB_DEPLOYMENT_STATUS_TRANSITION_GRACE_PERIOD_SECONDS", "0"}};
  const auto settings = make_settings({}, [&](std::string_view name) -> std::optional<std::string> {
    const auto found = environment.find(name);
    return found == environment.end() ? std::nullopt : std::optional(found->second);
  });
  ASSERT_TRUE(settings);
  EXPECT_TRUE(settings->random_pod_delete);
  EXPECT_FALSE(settings->redis_cleanup);
  EXPECT_EQ(settings->job_check_timeout, std::chrono::seconds{300});  // only above zero
  EXPECT_EQ(settings->job_transition_grace, std::chrono::seconds{0});
}

TEST(Settings, RJ_12_TheDefaultDeletionRule) {
  const auto read = [](const char* text) {
    return make_settings({}, [&](std::string_view name) {
      return name == "RAYJOB_DEFAULT_DELETION_RULE" ? std::optional<std::string>(text)
                                                    : std::nullopt;
    });
  };
  EXPECT_FALSE(read("")->job_default_deletion);
  EXPECT_EQ(read("DeleteSelf")->job_default_deletion->policy, "DeleteSelf");
  EXPECT_EQ(read("DeleteSelf")->job_default_deletion->after_end, std::chrono::seconds{0});
  const auto later = read("DeleteCluster:3600")->job_default_deletion;
  EXPECT_EQ(later->policy, "DeleteCluster");
  EXPECT_EQ(later->after_end, std::chrono::hours{1});
  for (const auto* wrong : {"DeleteWorkers", "deletecluster", "DeleteCluster:", "DeleteCluster:-1",
                            "DeleteCluster:1h", ":5"}) {
    const auto settings = read(wrong);
    ASSERT_FALSE(settings) << wrong;
    EXPECT_EQ(settings.error().message,
              fmt::format("RAYJOB_DEFAULT_DELETION_RULE is \"{}\": must be DeleteCluster or "
                          "DeleteSelf, with :<seconds after the job's end> if it is to wait",
                          wrong));
  }
}

TEST(Settings, EndlessPeriodsAreACentury) {
  const auto settings = make_settings(Options{}, [](std::string_view name) {
    return name == "RAYJOB_DEFAULT_DELETION_RULE"
               ? std::nullopt
               : std::optional<std::string>("9223372036854775807");
  });
  ASSERT_TRUE(settings.has_value()) << settings.error().message;
  EXPECT_EQ(settings->job_transition_grace, std::chrono::hours{24 * 365 * 100});
  EXPECT_EQ(settings->job_check_timeout, std::chrono::hours{24 * 365 * 100});
}

TEST(Settings, KnowTimeZones) {
  const auto settings = make_settings({}, [](std::string_view) { return std::nullopt; });
  ASSERT_TRUE(settings);
  EXPECT_TRUE(settings->zones("UTC"));
  EXPECT_TRUE(settings->zones("Local"));
  EXPECT_FALSE(settings->zones("Nowhere/Land"));
}

}  // namespace
}  // namespace manta::operator_

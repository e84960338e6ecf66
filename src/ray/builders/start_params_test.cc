#include "ray/builders/start_params.h"

#include "base/random.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <utility>

namespace manta::ray {
namespace {

JsonObject with_limits(std::initializer_list<std::pair<std::string_view, Json>> limits) {
  JsonObject amounts;
  for (const auto& [name, amount] : limits) amounts[name] = amount;
  return JsonObject{{"resources", JsonObject{{"limits", amounts}}}};
}

struct Row {
  const char* name;
  RayNode node;
  StartParams params;
  JsonObject container;
  const char* want;
};

// spec/03 §3.4: the text builder alone, without defaults.
TEST(RayStart, FromParametersAndLimits) {
  const Row rows[] = {
      {"gpu",
       RayNode::Worker,
       {},
       with_limits({{"nvidia.com/gpu", "1"}}),
       "ray start  --num-gpus=1 "},
      {"mig",
       RayNode::Worker,
       {},
       with_limits({{"nvidia.com/mig-2g.32gb", 1}}),
       "ray start  --num-gpus=1 "},
      {"tpu",
       RayNode::Worker,
       {},
       with_limits({{"google.com/tpu", "4"}}),
       "ray start  --resources='{\"TPU\":4}' "},
      {"accelerators of two kinds",
       RayNode::Head,
       {},
       with_limits(
           {{"google.com/tpu", "8"}, {"aws.amazon.com/neuroncore", "4"}, {"nvidia.com/gpu", "1"}}),
       "ray start --head  --num-gpus=1  --resources='{\"TPU\":8,\"neuron_cores\":4}' "},
      {"merged",
       RayNode::Head,
       {{"resources", "\"{\"custom_resource\":2}\""}},
       with_limits({{"aws.amazon.com/neuroncore", "4"}}),
       "ray start --head  --resources='{\"custom_resource\":2,\"neuron_cores\":4}' "},
      {"the user has decided",
       RayNode::Head,
       {{"resources", "'{\"x\":2,\"TPU\":4}'"}},
       with_limits({{"google.com/tpu", "8"}}),
       "ray start --head  --resources='{\"x\":2,\"TPU\":4}' "},
      {"unreadable stays, and GPUs are counted all the same",
       RayNode::Head,
       {{"resources", "{"}},
       with_limits({{"aws.amazon.com/neuroncore", "4"}, {"nvidia.com/gpu", "1"}}),
       "ray start --head  --num-gpus=1  --resources={ "},
      {"escaped for bash",
       RayNode::Head,
       {{"resources", "\"{\\\"x\\\": 1}\""}},
       with_limits({{"aws.amazon.com/neuroncore", "4"}}),
       "ray start --head  --resources='{\"neuron_cores\":4,\"x\":1}' "},
      {"escaped and nothing to add",
       RayNode::Head,
       {{"resources", "\"{\\\"x\\\": 1}\""}},
       with_limits({{"nvidia.com/gpu", "2"}}),
       "ray start --head  --num-gpus=2  --resources=\"{\\\"x\\\": 1}\" "},
      {"null is no crash",
       RayNode::Head,
       {{"resources", "null"}},
       with_limits({{"google.com/tpu", "4"}}),
       "ray start --head  --resources='{\"TPU\":4}' "},
      {"value flags",
       RayNode::Head,
       {{"include-log-monitor", "false"}, {"log-color", "TRUE"}},
       {},
       "ray start --head  --include-log-monitor=false  --log-color=TRUE "},
      {"switches",
       RayNode::Worker,
       {{"block", "TRUE"}, {"verbose", "False"}, {"x", ""}},
       {},
       "ray start  --block  --x= "},
      {"GPUs of two vendors",
       RayNode::Worker,
       {},
       with_limits({{"nvidia.com/gpu", "4"}, {"amd.com/gpu", "1"}}),
       "ray start  --num-gpus=5 "},
      {"zero CPU limit falls through to requests",
       RayNode::Worker,
       {},
       JsonObject{{"resources",
                   JsonObject{{"limits", JsonObject{{"cpu", "0"}}},
                              {"requests", JsonObject{{"cpu", "1500m"}, {"memory", "1Gi"}}}}}},
       "ray start  --num-cpus=2 "},
      {"the user's numbers stay",
       RayNode::Worker,
       {{"num-cpus", "0"}, {"num-gpus", "0"}},
       with_limits({{"cpu", "4"}, {"memory", "1.5Gi"}, {"nvidia.com/gpu", "8"}}),
       "ray start  --memory=1610612736  --num-cpus=0  --num-gpus=0 "},
  };
  for (const Row& row : rows) {
    StartParams params = row.params;
    derive_from_container(params, row.container);
    EXPECT_EQ(ray_start_text(row.node, params), row.want) << row.name;
  }
}

TEST(RayStart, GroupResourcesOverwrite) {
  StartParams params = {{"num-cpus", "7"}, {"resources", "'{\"old\":1}'"}};
  apply_group_resources(
      params,
      {{"CPU", "500m"}, {"Memory", "1Gi"}, {"GPU", "0"}, {"slots", "0.3"}, {"bad", "many"}});
  EXPECT_EQ(ray_start_text(RayNode::Worker, params),
            "ray start  --memory=1073741824  --num-cpus=1  --num-gpus=0  "
            "--resources='{\"slots\":0.3}' ");
}

// What bash makes of a command: its words.
std::vector<std::string> words_in_bash(const std::string& command) {
  const std::string script = "for word in " + command + "; do printf '%s\\n' \"$word\"; done";
  char name[] = "/tmp/start_params_test.XXXXXX";
  const int file = mkstemp(name);
  EXPECT_EQ(write(file, script.data(), script.size()), static_cast<ssize_t>(script.size()));
  close(file);
  std::vector<std::string> words;
  if (FILE* pipe = popen((std::string("bash ") + name).c_str(), "r")) {
    std::string word;
    for (int c; (c = fgetc(pipe)) != EOF;) {
      if (c != '\n') {
        word += static_cast<char>(c);
        continue;
      }
      words.push_back(std::exchange(word, {}));
    }
    pclose(pipe);
  }
  unlink(name);
  return words;
}

// The spellings that KubeRay's users know, as Ray gets them: untouched, and with a TPU added.
TEST(RayStart, AcceptedSpellingsOfResourcesKeepTheirMeaning) {
  const char* const spellings[] = {
      "'{\"a b\":1,\"c\":2.5}'",
      "\"{\\\"a b\\\": 1, \\\"c\\\": 2.5}\"",
  };
  for (const auto* spelling : spellings)
    for (const bool tpu : {false, true}) {
      StartParams params = {{"resources", spelling}, {"num-cpus", "3"}};
      if (tpu) derive_from_container(params, with_limits({{"google.com/tpu", "4"}}));
      const auto words = words_in_bash(ray_start_text(RayNode::Worker, params));
      ASSERT_EQ(words.size(), 4u) << spelling;
      EXPECT_EQ(words[2], "--num-cpus=3");
      ASSERT_TRUE(words[3].starts_with("--resources=")) << words[3];
      const auto json = parse_json(std::string_view(words[3]).substr(12));
      ASSERT_TRUE(json) << words[3];
      EXPECT_EQ(canonical_json(*json),
                tpu ? R"({"TPU":4,"a b":1,"c":2.5})" : R"({"a b":1,"c":2.5})");
    }
}

TEST(RayStart, GroupResourcesOfAnyNameReachRay) {
  SeededRandom random(11);
  for (int round = 0; round < 60; ++round) {
    std::string name = "r";
    for (auto n = random.next() % 12; n > 0; --n)
      name += " '\"$`\\!*;&|<>(){}~#ax"[random.next() % 22];
    StartParams params;
    apply_group_resources(params, {{name, "2"}});
    const auto words = words_in_bash(ray_start_text(RayNode::Worker, params));
    ASSERT_EQ(words.size(), 3u) << name;
    const auto json = parse_json(std::string_view(words[2]).substr(12));
    ASSERT_TRUE(json) << words[2];
    EXPECT_EQ(*json, (Json{{name, 2}})) << name;
  }
}

TEST(RayStart, AQuoteInAResourceNameStaysInsideTheQuotes) {
  StartParams params;
  apply_group_resources(params, {{"it's", "1"}});
  EXPECT_EQ(params["resources"], "'{\"it'\\''s\":1}'");
}

TEST(RayStart, Defaults) {
  StartParams head = {{"block", "false"}, {"dashboard-host", "::"}};
  apply_head_defaults(head);
  EXPECT_EQ(ray_start_text(RayNode::Head, head),
            "ray start --head  --block  --dashboard-agent-listen-port=52365  --dashboard-host=::  "
            "--metrics-export-port=8080 ");
  StartParams worker;
  apply_worker_defaults(worker, "demo-head-svc.ray.svc.cluster.local:6379");
  apply_group_labels(worker, {{"b", "2"}, {"a", "1"}});
  EXPECT_EQ(ray_start_text(RayNode::Worker, worker),
            "ray start  --address=demo-head-svc.ray.svc.cluster.local:6379  --block  "
            "--dashboard-agent-listen-port=52365  --labels=a=1,b=2  --metrics-export-port=8080 ");
}

TEST(QuantityAsFloat, IsTheNearestDouble) {
  const std::pair<const char*, double> rows[] = {
      {"0.3", 0.3},  {"700m", 0.7}, {"1.5", 1.5}, {"250m", 0.25},       {"2Ki", 2048},
      {"1e3", 1000}, {"2k", 2000},  {"-1", -1},   {"1.5Gi", 1610612736}};
  for (const auto& [text, want] : rows) EXPECT_EQ(quantity_as_float(text), want) << text;
  constexpr double kMost = std::numeric_limits<double>::max();
  for (const auto* huge : {"1e400", "1e99999999999", "1e+5000000000"})
    EXPECT_EQ(quantity_as_float(huge), kMost) << huge;
  EXPECT_EQ(quantity_as_float("-1e400"), -kMost);
  EXPECT_FALSE(std::signbit(*quantity_as_float("-0")));
  EXPECT_EQ(quantity_as_float("1e-99999999999"), 0);
  EXPECT_FALSE(quantity_as_float("many"));
  EXPECT_FALSE(quantity_as_float(""));
}

TEST(GpuResource, ByName) {
  for (const auto* name : {"gpu", "nvidia.com/gpu", "amd.com/gpu", "x/vgpu", "foo.bar/gpu",
                           "nvidia.com/mig-1g.10gb", "a.nvidia.com/mig-3g.40gb"})
    EXPECT_TRUE(is_gpu_resource(name)) << name;
  for (const auto* name : {"x/GPU", "gpu.intel.com/i915", "nvidia.com/gpu-mig-12g.128gb",
                           "nvidia.com/mig-1g.10gb.me", "nvidia.com/mig-g.10gb", ""})
    EXPECT_FALSE(is_gpu_resource(name)) << name;
}

TEST(PortParam, OnlyWhole32BitNumbers) {
  const StartParams params = {{"a", "8290"}, {"b", "auto"}, {"c", "99999999999"}, {"d", ""},
                              {"e", "1 "},   {"f", "+-5"},  {"g", "+5"}};
  EXPECT_EQ(port_param(params, "a", 1), 8290);
  EXPECT_EQ(port_param(params, "g", 1), 5);
  for (const auto* key : {"b", "c", "d", "e", "f", "absent"})
    EXPECT_EQ(port_param(params, key, 1), 1) << key;
  EXPECT_EQ(gcs_port({}), "6379");
  EXPECT_EQ(gcs_port({{"port", ""}}), "");
}

}  // namespace
}  // namespace manta::ray

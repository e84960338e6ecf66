#include "ray/builders/submit_command.h"

#include "base/json.h"
#include "base/random.h"
#include "base/shell.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace manta::ray {
namespace {

RayJob job_in(std::string_view mode) {
  RayJob job;
  job.spec.submissionMode = mode;
  job.spec.entrypoint = " \n echo no quote 'single quote' \"double quote\"\u00a0\t";
  job.status.dashboardURL = "http://127.0.0.1:8265";
  job.status.jobId = "testJobId";
  return job;
}

// spec/03 §6.2, the vector.
TEST(SubmitCommand, WithEverything) {
  RayJob job = job_in("K8sJobMode");
  job.spec.runtimeEnvYAML = "test: test";
  job.spec.metadata = {{"testKey", "testValue"}};
  job.spec.entrypointNumCpus = 1;
  job.spec.entrypointNumGpus = 0.5;
  job.spec.entrypointResources = R"({"Custom_1": 1, "Custom_2": 5.5})";
  EXPECT_EQ(
      submit_command(job, {}).value(),
      R"x(until python -c "import urllib.request; )x"
      R"x(r=urllib.request.urlopen('http://127.0.0.1:8265/api/gcs_healthz', timeout=10); )x"
      R"x(exit(0 if b'success' in r.read() else 1)" >/dev/null 2>&1 ; do )x"
      R"x(echo "Waiting for Ray Dashboard GCS to become healthy at http://127.0.0.1:8265 ..." ; )x"
      R"x(sleep 2 ; done ; if ! ray job status --address http://127.0.0.1:8265 testJobId )x"
      R"x(>/dev/null 2>&1 ; then ray job submit --address http://127.0.0.1:8265 --no-wait )x"
      R"x(--runtime-env-json "{\"test\":\"test\"}" --metadata-json "{\"testKey\":\"testValue\"}" )x"
      R"x(--submission-id testJobId --entrypoint-num-cpus 1.000000 --entrypoint-num-gpus 0.500000 )x"
      R"x(--entrypoint-resources "{\"Custom_1\": 1, \"Custom_2\": 5.5}" -- )x"
      R"x(echo no quote 'single quote' "double quote" ; fi ; )x"
      R"x(ray job logs --address http://127.0.0.1:8265 --follow testJobId)x");
}

TEST(SubmitCommand, OfASidecarSubmitsOnceAndEnds) {
  RayJob job = job_in("SidecarMode");
  const std::string once = submit_command(job, {}).value();
  EXPECT_NE(once.find("done ; ray job submit --address http://127.0.0.1:8265 --submission-id"),
            std::string::npos);
  EXPECT_TRUE(once.ends_with("\"double quote\" ;")) << once;
  BuildOptions restarts;
  restarts.sidecar_submitter_restart = true;
  EXPECT_NE(submit_command(job, restarts).value().find("if ! ray job status"), std::string::npos);
}

TEST(SubmitCommand, AddressGetsAScheme) {
  RayJob job = job_in("K8sJobMode");
  job.status.dashboardURL = "head:8265";
  EXPECT_NE(submit_command(job, {}).value().find("--address http://head:8265 "), std::string::npos);
}

TEST(SubmitCommand, Refusals) {
  EXPECT_EQ(submit_command(job_in("HTTPMode"), {}).error().message,
            "unsupported submission mode for job submit command: HTTPMode");
  RayJob job = job_in("K8sJobMode");
  job.spec.metadata = {{"a", "b"}};
  job.spec.rayClusterSpec.emplace().rayVersion = "2.5.9";
  EXPECT_EQ(submit_command(job, {}).error().message,
            "the Ray version must be at least 2.6.0 to use the metadata field");
  job.spec.rayClusterSpec->rayVersion = "nightly";
  EXPECT_TRUE(submit_command(job, {}).error().message.starts_with(
      "failed to parse Ray version: nightly: "));
  job.spec.rayClusterSpec->rayVersion = "";
  EXPECT_TRUE(submit_command(job, {}).has_value());
  job.spec.runtimeEnvYAML = "a: [";
  EXPECT_FALSE(submit_command(job, {}).has_value());
}

TEST(SupportsJobMetadata, LenientVersions) {
  for (const auto* version : {"2.6.0", "v2.6", "3", "2.52.0+local.1", "10.0.0"})
    EXPECT_TRUE(supports_job_metadata(version).value()) << version;
  for (const auto* version : {"2.5.9", "2", "1.13.0", "2.6.0-rc1", "3.0.0-dev"})
    EXPECT_FALSE(supports_job_metadata(version).value()) << version;
  for (const auto* version : {"", "nightly", "2.", "2.6.0.1", "2.6.0rc1", "2.6.0-", "2.6.0-a b"})
    EXPECT_FALSE(supports_job_metadata(version).has_value()) << version;
}

TEST(QuoteArgument, KeepsEveryTextAsItIs) {
  EXPECT_EQ(quote_argument(R"({"a":"b\n"})"), R"("{\"a\":\"b\\n\"}")");
  EXPECT_EQ(quote_argument("Übung"), "\"Übung\"");
  EXPECT_EQ(quote_argument("pa$$word"), "'pa$$word'");
  EXPECT_EQ(quote_argument("`id`"), "'`id`'");
  EXPECT_EQ(quote_argument("two\nlines"), "'two\nlines'");
}

// What real bash makes of the script: each call of ray and python as [word][word]…, a line each.
constexpr std::string_view kShowWords =
    "ray() { if [ \"$2\" = status ]; then printf '[%s]' \"$@\" >&3; echo >&3; return 1; fi; "
    "printf '[%s]' \"$@\"; echo; }; exec 3>&1; "
    "python() { [ \"${2#import urllib}\" != \"$2\" ] || { printf '[%s]' \"$3\" \"$4\"; echo; }; "
    "}; ";
std::string run_in_bash(std::string_view script, std::string_view stubs = kShowWords) {
  const auto text = std::string(stubs) + std::string(script);
  FILE* pipe = ::popen(("bash -c " + shell_quote(text)).c_str(), "r");
  std::string out;
  char buffer[4096];
  while (const auto got = std::fread(buffer, 1, sizeof buffer, pipe)) out.append(buffer, got);
  ::pclose(pipe);
  return out;
}

TEST(SubmitCommand, RJ_30_OddIdsAndAddressesAreWords) {
  RayJob job = job_in("K8sJobMode");
  job.spec.entrypoint = "x";
  job.status.jobId = "x; touch /tmp/p";
  job.status.dashboardURL = "a$(echo b):1";
  EXPECT_EQ(run_in_bash(submit_command(job, {}).value()),
            "[job][status][--address][http://a$(echo b):1][x; touch /tmp/p]\n"
            "[job][submit][--address][http://a$(echo b):1][--no-wait]"
            "[--submission-id][x; touch /tmp/p][--][x]\n"
            "[job][logs][--address][http://a$(echo b):1][--follow][x; touch /tmp/p]\n");
}

std::string any_text(SeededRandom& random) {
  std::string text;
  for (auto n = 1 + random.next() % 20; n > 0; --n)
    text += static_cast<char>(1 + random.next() % 255);
  return text;
}

// All that users or statuses say, but for the entrypoint, which is a piece of shell.
TEST(SubmitCommand, AnyBytesReachRayAsTheyAre) {
  constexpr std::string_view kStubs =
      "ray() { printf '%s\\1' \"$@\" >&3; [ \"$2\" != status ]; }; "
      "python() { printf '%s\\1' \"$2\" >&3; }; exec 3>&1 1>/dev/null; ";
  SeededRandom random(11);
  for (int i = 0; i < 40; ++i) {
    RayJob job = job_in("K8sJobMode");
    job.spec.entrypoint = "x";
    job.status.jobId = any_text(random);
    job.status.dashboardURL = any_text(random);
    job.spec.entrypointResources = any_text(random);
    job.spec.metadata = {{any_text(random), any_text(random)}};
    const auto command = submit_command(job, {});
    ASSERT_TRUE(command);
    const std::string url = "http://" + job.status.dashboardURL;
    const std::string& id = job.status.jobId;
    const auto metadata =
        dump_json(JsonObject{{job.spec.metadata.begin()->first, job.spec.metadata.begin()->second}},
                  JsonEscape::Html);
    std::string want;
    for (const auto& word :
         {"import urllib.request; r=urllib.request.urlopen('" + url +
              "/api/gcs_healthz', timeout=10); exit(0 if b'success' in r.read() else 1)",
          std::string("job"),
          std::string("status"),
          std::string("--address"),
          url,
          id,
          std::string("job"),
          std::string("submit"),
          std::string("--address"),
          url,
          std::string("--no-wait"),
          std::string("--metadata-json"),
          metadata,
          std::string("--submission-id"),
          id,
          std::string("--entrypoint-resources"),
          job.spec.entrypointResources,
          std::string("--"),
          std::string("x"),
          std::string("job"),
          std::string("logs"),
          std::string("--address"),
          url,
          std::string("--follow"),
          id})
      want += word + '\1';
    EXPECT_EQ(run_in_bash(*command, kStubs), want) << *command;
  }
}

TEST(SubmitCommand, RJ_28_UnderTheGateTheWholeEntrypointReachesRay) {
  RayJob job = job_in("K8sJobMode");
  job.spec.entrypoint = "echo a ; echo b && echo `c` \"$HOME\" 'd' # e\nf";
  job.spec.runtimeEnvYAML = "env_vars: {A: \"it's $5\"}";
  BuildOptions verbatim;
  verbatim.verbatim_entrypoint = true;
  const auto out = run_in_bash(submit_command(job, verbatim).value());
  const auto start = out.find("[http://127.0.0.1:8265][{");
  ASSERT_NE(start, std::string::npos) << out;
  const auto from = out.find('{', start);
  const auto body = parse_json(out.substr(from, out.find("}]\n", from) + 1 - from));
  ASSERT_TRUE(body) << out;
  EXPECT_EQ(string_at(*body, {"entrypoint"}), job.spec.entrypoint);
  EXPECT_EQ(string_at(*body, {"submission_id"}), "testJobId");
  EXPECT_EQ(string_at(*body, {"runtime_env", "env_vars", "A"}), "it's $5");
}

}  // namespace
}  // namespace manta::ray

#include "cli/manifest.h"

#include <gtest/gtest.h>

namespace manta::cli {
namespace {

const char* const kText = R"(# a comment
apiVersion: v1
kind: ConfigMap
metadata:
  name: c
---
---
apiVersion: ray.io/v1
kind: RayJob
metadata:
  name: j
spec:
  workers:
  - replicas: 1
  - replcas: 2
)";

TEST(ParseManifest, BrokenYamlGivesFileLineAndColumn) {
  const auto answer = parse_manifest("job.yaml", "a: 1\nb: [1, 2\nc: 3\n");
  ASSERT_FALSE(answer);
  EXPECT_TRUE(answer.error().message.starts_with("job.yaml:")) << answer.error().message;
  EXPECT_EQ(answer.error().message.find("line "), std::string::npos) << answer.error().message;
}

TEST(ParseManifest, AMessageMayBeLong) {
  const auto entry = "? \"" + std::string(1'000'000, 'x') + "\"\n: 1\n";
  const auto answer = parse_manifest("f", entry + entry);
  ASSERT_FALSE(answer);
  EXPECT_TRUE(answer.error().message.starts_with("f:3:")) << answer.error().message.substr(0, 99);
  EXPECT_TRUE(answer.error().message.ends_with("is there twice"));
}

TEST(ParseManifest, RefusesWhatIsNoObject) {
  EXPECT_NE(
      parse_manifest("f", "a: 1\n").error().message.find("f:1:1: document 1 has no apiVersion"),
      std::string::npos);
  EXPECT_FALSE(parse_manifest("f", "# nothing\n"));
}

TEST(LoadManifest, AFolderIsNoManifest) {
  EXPECT_EQ(load_manifest("/").error().message, "/: is a directory, not a manifest");
}

struct PlaceCase {
  std::size_t document;
  const char* field;
  int line;
  int column;
};
const PlaceCase kPlaces[] = {
    {0, "metadata.name", 5, 3},
    {1, "spec.workers[1].replcas", 15, 5},
    {1, "spec.workers[1].missing", 15, 5},
    {1, "spec.workers[7].replicas", 13, 3},
    {1, "", 8, 1},
};
TEST(FindPlace, Table) {
  const auto manifest = parse_manifest("job.yaml", kText);
  ASSERT_TRUE(manifest);
  ASSERT_EQ(manifest->documents.size(), 2u);
  for (const auto& row : kPlaces) {
    const auto place = find_place(*manifest, row.document, row.field);
    ASSERT_TRUE(place) << row.field;
    EXPECT_EQ(place->line, row.line) << row.field;
    EXPECT_EQ(place->column, row.column) << row.field;
  }
}

TEST(ExplainRejection, AFieldsNameMayBeLong) {
  const auto manifest = parse_manifest("job.yaml", kText);
  const std::string name(1'000'000, 'x');
  const Error error{.code = ErrorCode::BadRequest,
                    .message = "strict decoding error: unknown field \"" + name +
                               "\", duplicate field \"a\", unknown field \""};
  EXPECT_EQ(explain_rejection(*manifest, 1, error),
            "job.yaml:8:1: " + name + ": unknown field\njob.yaml:8:1: a: duplicate field");
}

TEST(ExplainRejection, UnknownFieldsGetTheirPlaces) {
  const auto manifest = parse_manifest("job.yaml", kText);
  Error error{.code = ErrorCode::BadRequest,
              .message = R"(strict decoding error: unknown field "spec.workers[1].replcas")"};
  EXPECT_EQ(explain_rejection(*manifest, 1, error),
            "job.yaml:15:5: spec.workers[1].replcas: unknown field");
  error.causes = {{.field = "spec.workers", .message = "Required value"},
                  {.field = "<nil>", .message = "some rules were not checked"}};
  EXPECT_EQ(explain_rejection(*manifest, 1, error), "job.yaml:13:3: spec.workers: Required value");
}

}  // namespace
}  // namespace manta::cli

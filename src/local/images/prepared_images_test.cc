#include "local/images/prepared_images.h"

#include "local/images/image_name.h"
#include "local/images/image_pull.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

namespace manta::local {
namespace {
namespace fs = std::filesystem;
using ::testing::HasSubstr;

struct NameCase {
  const char* name;
  const char* version;  // null: no Ray image
  const char* python = "";
  const char* accelerator = "";
};
const NameCase kNames[] = {
    {"rayproject/ray:2.52.0", "2.52.0"},
    {"docker.io/rayproject/ray:2.52.0-py310", "2.52.0", "3.10"},
    {"rayproject/ray:2.9.3-py39-cpu", "2.9.3", "3.9", "cpu"},
    {"rayproject/ray:2.46.0-py312-cu121-aarch64", "2.46.0", "3.12", "cu121"},
    {"rayproject/ray-ml:2.5.0-gpu", "2.5.0", "", "gpu"},
    {"rayproject/ray", "latest"},
    {"rayproject/ray:nightly", "nightly"},
    {"rayproject/ray:2.52.0@sha256:abc", "2.52.0"},
    {"rayproject/rayon:1", nullptr},
    {"busybox", nullptr},
};
TEST(ParseRayImage, Table) {
  for (const auto& row : kNames) {
    const auto image = parse_ray_image(row.name);
    ASSERT_EQ(image.has_value(), row.version != nullptr) << row.name;
    if (!image) continue;
    EXPECT_EQ(image->version, row.version) << row.name;
    EXPECT_EQ(image->python, row.python) << row.name;
    EXPECT_EQ(image->accelerator, row.accelerator) << row.name;
  }
}

class Images : public testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/manta-images-XXXXXX";
    ASSERT_NE(::mkdtemp(folder), nullptr);
    folder_ = folder;
  }
  void TearDown() override { fs::remove_all(folder_); }

  void prepare(const std::string& version, const std::string& python) {
    const auto venv = index().env_folder(version, python);
    fs::create_directories(venv / "bin");
    fs::create_directories(venv / "lib" / ("python" + python) / "site-packages" /
                           ("ray-" + version + ".dist-info"));
    std::ofstream(venv / "bin" / "python") << "";
    auto image = *inspect_venv(venv);
    image.name = ray_image_name(version, python);
    image.pulled = true;
    ASSERT_TRUE(index().put(image));
  }
  ImageIndex index() const { return ImageIndex(folder_); }
  Result<ImageRoot> resolve(const std::string& name) const {
    return PreparedImages(index()).resolve(name);
  }

  fs::path folder_;
};

TEST_F(Images, VersionAndPythonAreFound) {
  prepare("2.52.0", "3.10");
  prepare("2.60.0", "3.11");
  for (const auto* name : {"rayproject/ray:2.52.0", "rayproject/ray:2.52.0-py310",
                           "docker.io/rayproject/ray:2.52.0-cpu"}) {
    const auto root = resolve(name);
    ASSERT_TRUE(root) << name;
    EXPECT_EQ(root->venv, index().env_folder("2.52.0", "3.10")) << name;
    EXPECT_EQ(root->notice, "") << name;
  }
}

TEST_F(Images, UnpreparedTagFallsBackAndSaysHowToGetIt) {
  prepare("2.9.0", "3.10");
  prepare("2.60.0", "3.11");
  const auto root = resolve("rayproject/ray:2.41.0-py39");
  ASSERT_TRUE(root);
  EXPECT_EQ(root->venv, index().env_folder("2.60.0", "3.11"));
  EXPECT_NE(root->notice.find("manta image pull rayproject/ray:2.41.0-py39"), std::string::npos);
}

TEST_F(Images, ChosenDefaultWins) {
  prepare("2.9.0", "3.10");
  prepare("2.60.0", "3.11");
  ASSERT_TRUE(index().set_default("rayproject/ray:2.9.0-py310"));
  EXPECT_EQ(resolve("rayproject/ray")->venv, index().env_folder("2.9.0", "3.10"));
  EXPECT_FALSE(index().set_default("nothing"));
}

TEST_F(Images, ASecondNameForTheSameRayDoesNotMoveTheDefault) {
  prepare("2.60.0", "3.11");
  const auto entry = folder_ / "entries" / "rayproject%2Fray%3A2.60.0-py311.json";
  ASSERT_TRUE(fs::exists(entry));
  fs::last_write_time(entry, fs::last_write_time(entry) - std::chrono::hours{1});
  auto second = *index().find("rayproject/ray:2.60.0-py311");
  second.name = "a/name:1";  // the first by name order
  second.pulled = false;
  ASSERT_TRUE(index().put(second));
  EXPECT_EQ(index().default_image()->name, "rayproject/ray:2.60.0-py311");
  prepare("2.60.0", "3.11");  // once more changes nothing
  EXPECT_EQ(index().default_image()->name, "rayproject/ray:2.60.0-py311");
  prepare("2.61.0", "3.11");
  EXPECT_EQ(index().default_image()->name, "rayproject/ray:2.61.0-py311");
}

TEST_F(Images, MessagesCallTheCommandAsTheUserDid) {
  PreparedImages images(ImageIndex(folder_, "manta --data-dir /d"));
  EXPECT_TRUE(images.resolve("rayproject/ray:2.60.0")
                  .error()
                  .message.contains("run: manta --data-dir /d image pull --default"));
  EXPECT_TRUE(images.resolve("other:1").error().message.contains(
      ": manta --data-dir /d image add other:1 --root DIR | --venv DIR"));
}

TEST_F(Images, GpuImageRunsWithANotice) {
  prepare("2.60.0", "3.11");
  EXPECT_NE(resolve("rayproject/ray:2.60.0-gpu")->notice.find("without its gpu libraries"),
            std::string::npos);
}

TEST_F(Images, AnImageWithMoreThanRayRunsWithANotice) {
  prepare("2.60.0", "3.11");
  EXPECT_THAT(resolve("rayproject/ray-ml:2.60.0")->notice,
              ::testing::EndsWith("without what rayproject/ray-ml adds to Ray"));
  EXPECT_THAT(
      resolve("rayproject/ray-llm:2.60.0-py311-cu124")->notice,
      ::testing::EndsWith("without its cu124 libraries, and what rayproject/ray-llm adds to Ray"));
  EXPECT_THAT(resolve("rayproject/ray-ml:2.41.0")->notice,
              ::testing::AllOf(HasSubstr("is not prepared"),
                               HasSubstr("without what rayproject/ray-ml adds to Ray")));
}

TEST_F(Images, OtherImageNamesTheCommandThatAddsIt) {
  const auto root = resolve("redis:7");
  ASSERT_FALSE(root);
  EXPECT_EQ(root.error().code, ErrorCode::NotFound);
  EXPECT_NE(root.error().message.find("manta image add redis:7 --root DIR | --venv DIR"),
            std::string::npos);
}

TEST_F(Images, NoRayAtAllSaysSo) {
  EXPECT_NE(resolve("rayproject/ray:2.60.0").error().message.find("manta image pull --default"),
            std::string::npos);
}

TEST_F(Images, AddedRootIsUsedUnderItsName) {
  ASSERT_TRUE(index().put({.name = "my/app:1", .is_venv = false, .path = folder_}));
  EXPECT_EQ(resolve("docker.io/my/app:1")->kind, ImageRoot::Kind::Root);
}

TEST_F(Images, RemovingAPulledOneFreesItsFolder) {
  prepare("2.60.0", "3.11");
  ASSERT_TRUE(index().remove("rayproject/ray:2.60.0-py311"));
  EXPECT_FALSE(fs::exists(index().env_folder("2.60.0", "3.11")));
  EXPECT_FALSE(resolve("rayproject/ray:2.60.0"));
}

TEST_F(Images, RemovingAnAddedOneLeavesTheUsersFolder) {
  const auto folder = folder_ / "mine";
  fs::create_directories(folder);
  ASSERT_TRUE(index().put({.name = "mine", .is_venv = false, .path = folder}));
  ASSERT_TRUE(index().remove("mine"));
  EXPECT_TRUE(fs::exists(folder));
}

TEST_F(Images, HalfMadeEnvironmentIsNoImage) {
  fs::create_directories(index().env_folder("2.60.0", "3.11") / "bin");
  EXPECT_TRUE(index().list().empty());
}

TEST_F(Images, ATagThatIsNoReleaseIsRefusedBeforeAnythingIsMade) {
  for (const auto* tag : {"nosuch", "nightly", "2.52", "2.52.0.abcdef", "2.52.0rc", "v2.52.0"}) {
    const auto answer = pull_image(index(), std::string("rayproject/ray:") + tag + "-py311", {});
    ASSERT_FALSE(answer) << tag;
    EXPECT_EQ(answer.error().code, ErrorCode::Invalid);
    EXPECT_THAT(answer.error().message,
                ::testing::AllOf(HasSubstr(fmt::format("\"{}\" is no release of Ray", tag)),
                                 HasSubstr("VERSION[-pyXY][-cpu]"), HasSubstr("pypi.org")));
  }
  EXPECT_FALSE(fs::exists(folder_ / "envs"));
  EXPECT_TRUE(parse_ray_image("rayproject/ray:2.52.0rc1")->is_release());
}

// What uv 0.8 and pip 24 print.
TEST(NoSuchRay, IsToldInOurWords) {
  const auto none = no_such_ray(
      "9.9.9", "3.11",
      "error: No solution found when resolving dependencies\n  cause: Because there is no version "
      "of ray[default]==9.9.9 and you require ray[default]==9.9.9, we can conclude …");
  EXPECT_THAT(none.value_or(""), HasSubstr("there is no Ray 9.9.9"));
  EXPECT_THAT(no_such_ray("9.9.9", "3.11",
                          "ERROR: No matching distribution found for ray[default,serve]==9.9.9")
                  .value_or(""),
              HasSubstr("there is no Ray 9.9.9"));
  EXPECT_THAT(
      no_such_ray("2.0.0", "3.11",
                  "  cause: Because ray[default]==2.0.0 has no wheels with a matching Python "
                  "ABI tag (e.g., `cp311`)")
          .value_or(""),
      HasSubstr("no package for Python 3.11; name another Python in the tag"));
  EXPECT_FALSE(no_such_ray("2.0.0", "3.11", "error: failed to fetch: dns error"));
}

TEST_F(Images, OnlyRayCanBePulled) {
  const auto answer = pull_image(index(), "redis:7", {});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::Invalid);
}

}  // namespace
}  // namespace manta::local

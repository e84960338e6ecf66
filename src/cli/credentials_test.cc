#include "cli/credentials.h"

#include "cli/daemon_parts.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

namespace manta::cli {
namespace {
namespace fs = std::filesystem;

class CredentialFiles : public testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/manta-credentials-XXXXXX";
    ASSERT_NE(::mkdtemp(folder), nullptr);
    paths_.home = folder;
  }
  void TearDown() override { fs::remove_all(paths_.home); }

  Result<Credentials> load() { return load_or_make_credentials(paths_, "10.97.0.1", {}, random_); }
  void put(const fs::path& path, std::string_view text) { std::ofstream(path) << text; }

  SystemRandom random_ = {};
  Paths paths_ = {};
};

TEST_F(CredentialFiles, StayTheSame) {
  const auto first = load();
  ASSERT_TRUE(first) << first.error().message;
  const auto second = load();
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(first->certificate_pem, second->certificate_pem);
  EXPECT_EQ(first->token, second->token);
}

TEST_F(CredentialFiles, ThatAreGarbageAreNamedWithTheRemedy) {
  for (const char* name : {"server.crt", "server.key", "token"}) {
    fs::remove_all(paths_.pki());
    ASSERT_TRUE(load());
    put(paths_.pki() / name, "gar bage\n");
    const auto loaded = load();
    ASSERT_FALSE(loaded) << name;
    EXPECT_TRUE(loaded.error().message.contains((paths_.pki() / name).string()))
        << loaded.error().message;
    EXPECT_TRUE(loaded.error().message.contains("delete the folder " + paths_.pki().string()));
  }
}

TEST_F(CredentialFiles, KeyOfAnotherCertificateIsFound) {
  ASSERT_TRUE(load());
  const auto key = paths_.pki() / "server.key";
  fs::copy_file(key, paths_.home / "key");
  fs::remove_all(paths_.pki());
  ASSERT_TRUE(load());
  fs::copy_file(paths_.home / "key", key, fs::copy_options::overwrite_existing);
  const auto loaded = load();
  ASSERT_FALSE(loaded);
  EXPECT_TRUE(loaded.error().message.contains("do not belong together")) << loaded.error().message;
}

TEST_F(CredentialFiles, ServiceNetworkIsKeptAndReadWithCare) {
  const auto first = choose_service_network(paths_, true);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_TRUE(first->starts_with("10.") && first->ends_with(".0.0/16")) << *first;
  EXPECT_EQ(first_service_ip("10.99.0.0/16"), "10.99.0.1");
  put(paths_.home / "service-cidr", "10.111.0.0/16\n");
  EXPECT_EQ(*choose_service_network(paths_, true), "10.111.0.0/16");
  put(paths_.home / "service-cidr", "ten");
  const auto bad = choose_service_network(paths_, true);
  ASSERT_FALSE(bad);
  EXPECT_TRUE(bad.error().message.contains("service-cidr")) << bad.error().message;
}

TEST_F(CredentialFiles, HomeOfBeforeKeepsItsServiceNetwork) {
  put(paths_.store(), "");
  EXPECT_EQ(*choose_service_network(paths_, true), "10.96.0.0/16");
}

}  // namespace
}  // namespace manta::cli

#include "base/hash.h"

#include "base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace manta {
namespace {

TEST(Hash, KnownAnswers) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha1_base32hex(""), "R8SQ7RIUDD5GQCILNVNPAO0OI2NTG1O9");
  EXPECT_EQ(fnv1a64(""), 0xcbf29ce484222325u);
  EXPECT_EQ(fnv1a64("a"), 0xaf63dc4c8601ec8cu);
}

TEST(Base64, RfcExamplesAndBack) {
  const std::pair<const char*, const char*> rows[] = {{"", ""},
                                                      {"f", "Zg=="},
                                                      {"fo", "Zm8="},
                                                      {"foo", "Zm9v"},
                                                      {"foob", "Zm9vYg=="},
                                                      {"fooba", "Zm9vYmE="},
                                                      {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, encoded] : rows) {
    EXPECT_EQ(base64_encode(plain), encoded);
    EXPECT_EQ(base64_decode(encoded).value(), plain);
  }
  EXPECT_EQ(base64_decode("Zm9v\nYg==\n").value(), "foob");
  for (const auto* bad : {"Zg", "Zg=", "Z===", "Zm9v!", "Zg==Zg==", "====", "Zm-_"})
    EXPECT_FALSE(base64_decode(bad)) << bad;
}

TEST(Random, NamesAndIds) {
  SeededRandom a(1), b(1);
  EXPECT_EQ(random_suffix(a), random_suffix(b));
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(random_suffix(a, 10));
  EXPECT_EQ(seen.size(), 1000u);
  for (const auto& suffix : seen)
    EXPECT_EQ(suffix.find_first_not_of("bcdfghjklmnpqrstvwxz2456789"), std::string::npos) << suffix;
  const auto uuid = random_uuid(a);
  ASSERT_EQ(uuid.size(), 36u);
  EXPECT_EQ(uuid[14], '4');
  EXPECT_NE(std::string("89ab").find(uuid[19]), std::string::npos);
  SystemRandom system;
  EXPECT_NE(system.next(), system.next());
}

}  // namespace
}  // namespace manta

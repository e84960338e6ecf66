#include "local/node/dns_message.h"

#include <gtest/gtest.h>

namespace manta::local {
namespace {

using namespace std::string_literals;

/// "Web.ns" as a question of type A, recursion desired.
const std::string kQuestion =
    "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"s
    "\x03Web\x02ns\x00\x00\x01\x00\x01"s;

TEST(DnsQuestion, IsRead) {
  const auto question = parse_dns_question(kQuestion);
  ASSERT_TRUE(question);
  EXPECT_EQ(question->id, 0x1234);
  EXPECT_EQ(question->name, "web.ns");
  EXPECT_EQ(question->type, kDnsA);
  EXPECT_EQ(question->size, kQuestion.size());
  EXPECT_TRUE(parse_dns_question(kQuestion + "what EDNS adds"));
}

TEST(DnsQuestion, EveryCutOfOneIsRefused) {
  for (std::size_t size = 0; size < kQuestion.size(); ++size)
    EXPECT_FALSE(parse_dns_question(kQuestion.substr(0, size))) << size;
}

TEST(DnsQuestion, AnswersPointersAndSeveralQuestionsAreRefused) {
  auto text = kQuestion;
  text[2] = '\x81';
  EXPECT_FALSE(parse_dns_question(text)) << "an answer";
  text = kQuestion;
  text[12] = '\xc0';
  EXPECT_FALSE(parse_dns_question(text)) << "a pointer";
  text = kQuestion;
  text[5] = 2;
  EXPECT_FALSE(parse_dns_question(text)) << "two questions";
}

TEST(DnsAnswer, RepeatsTheQuestionAndCarriesAddresses) {
  const auto question = *parse_dns_question(kQuestion);
  const auto answer = build_dns_answer(kQuestion, question, DnsCode::NoError, {0x0a600009});
  EXPECT_EQ(answer,
            "\x12\x34\x85\x80\x00\x01\x00\x01\x00\x00\x00\x00"s
            "\x03Web\x02ns\x00\x00\x01\x00\x01"s
            "\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x05\x00\x04\x0a\x60\x00\x09"s);
  const auto none = build_dns_answer(kQuestion, question, DnsCode::NoSuchName);
  EXPECT_EQ(none[3] & 15, 3);
  EXPECT_EQ(none.size(), kQuestion.size());
}

TEST(DnsNames, OnlyOthersAreAskedOutside) {
  for (const char* name : {"web.ns.svc.cluster.local", "cluster.local", "web.ns.svc", "web",
                           "_grpc.web.ns.svc.cluster.local", "7.0.244.10.in-addr.arpa"})
    EXPECT_TRUE(is_local_name(name, "cluster.local")) << name;
  for (const char* name : {"pypi.org", "web.ns", "mycluster.local", "cluster.local.example.com",
                           "110.in-addr.arpa", "8.8.8.8.in-addr.arpa"})
    EXPECT_FALSE(is_local_name(name, "cluster.local")) << name;
}

TEST(DnsServers, AreReadFromResolvConf) {
  EXPECT_EQ(parse_name_servers("# nameserver 9.9.9.9\nsearch x\nnameserver 10.0.0.2\n"
                               "nameserver\t127.0.0.53 \noptions edns0\nnameserver\n"),
            (std::vector<std::string>{"10.0.0.2", "127.0.0.53"}));
}

}  // namespace
}  // namespace manta::local

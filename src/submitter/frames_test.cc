#include "submitter/frames.h"

#include <gtest/gtest.h>

namespace manta::submitter {
namespace {

struct Read {
  std::string data = {};
  std::string pings = {};
  int closed = 0;
  std::string error = {};
};

// Fed `step` bytes at a time.
Read read(std::string_view bytes, std::size_t step) {
  Read out;
  FrameReader reader({.on_data = [&](std::string_view piece) { out.data += piece; },
                      .on_ping = [&](std::string_view data) { out.pings += data; },
                      .on_close = [&](std::uint16_t code) { out.closed = code; }});
  for (std::size_t at = 0; at < bytes.size(); at += step)
    if (const auto fed = reader.feed(bytes.substr(at, step)); !fed) {
      out.error = fed.error().message;
      break;
    }
  return out;
}

std::string server_frame(int first, std::string_view data) {
  std::string frame(1, static_cast<char>(first));
  if (data.size() < 126) {
    frame += static_cast<char>(data.size());
  } else {
    frame += static_cast<char>(127);
    for (int shift = 56; shift >= 0; shift -= 8)
      frame += static_cast<char>(std::uint64_t{data.size()} >> shift);
  }
  return frame.append(data);
}

TEST(FrameReader, ReadsWhateverThePiecesAre) {
  const std::string large(100'000, 'x');  // upstream's submitter dies of more than 32 KiB
  const auto bytes = server_frame(0x01, "one ") + server_frame(0x89, "p") +
                     server_frame(0x80, "line\n") + server_frame(0x82, large) +
                     server_frame(0x81, "") + server_frame(0x88, "\x03\xe8");
  for (const std::size_t step : {std::size_t{1}, std::size_t{3}, std::size_t{4096}, bytes.size()}) {
    const auto got = read(bytes, step);
    EXPECT_EQ(got.error, "");
    EXPECT_EQ(got.data, "one line\n" + large);
    EXPECT_EQ(got.pings, "p");
    EXPECT_EQ(got.closed, 1000);
  }
}

TEST(FrameReader, ACloseNeedNotSayWhy) { EXPECT_EQ(read(server_frame(0x88, ""), 1).closed, 1005); }

TEST(FrameReader, RefusesWhatNoServerSends) {
  EXPECT_NE(read(server_frame(0xc1, "compressed"), 99).error, "");
  EXPECT_NE(read(server_frame(0x83, "opcode"), 99).error, "");
  EXPECT_NE(read(std::string("\x81\x81"
                             "abcd"
                             "x",
                             7),
                 99)
                .error,
            "")
      << "masked";
  EXPECT_NE(read(server_frame(0x89, std::string(200, 'p')), 99).error, "") << "a long ping";
}

TEST(ClientFrame, IsMasked) {
  EXPECT_EQ(client_frame(Opcode::Text, "abc", 0x01020304), std::string("\x81\x83\x01\x02\x03\x04"
                                                                       "\x60\x60\x60",
                                                                       9));
  EXPECT_EQ(client_frame(Opcode::Text, std::string(300, 'a'), 0).substr(0, 4),
            std::string("\x81\xfe\x01\x2c", 4));
}

}  // namespace
}  // namespace manta::submitter

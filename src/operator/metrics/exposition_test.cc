#include "operator/metrics/exposition.h"

#include "operator/metrics/process_metrics.h"

#include <gtest/gtest.h>
#include <zlib.h>

namespace manta::operator_ {
namespace {

std::string gunzip(std::string_view packed) {
  z_stream stream{};
  inflateInit2(&stream, 15 + 16);
  std::string out(1 << 20, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  inflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

Exposition many_series() {
  Exposition exposition;
  exposition.add([](MetricsPage& page) {
    page.family("x", MetricType::Gauge, "many");
    for (int i = 0; i < 1000; ++i) page.sample(metric_labels({{"i", std::to_string(i)}}), 1);
  });
  return exposition;
}

TEST(Exposition, PacksForThoseWhoTakeIt) {
  const auto exposition = many_series();
  const auto plain = exposition.answer({.method = "GET", .target = "/metrics"});
  EXPECT_EQ(plain.content_encoding, "");
  const auto packed = exposition.answer(
      {.method = "GET", .target = "/metrics", .headers = {{"accept-encoding", "gzip, br"}}});
  EXPECT_EQ(packed.content_encoding, "gzip");
  EXPECT_LT(packed.body.size(), plain.body.size() / 4);
  EXPECT_EQ(gunzip(packed.body), plain.body);
}

TEST(Exposition, SpeaksOpenMetrics) {
  const auto answer =
      many_series().answer({.method = "GET",
                            .target = "/metrics",
                            .headers = {{"accept", "application/openmetrics-text"}}});
  EXPECT_TRUE(answer.content_type.starts_with("application/openmetrics-text"));
  EXPECT_TRUE(answer.body.ends_with("# EOF\n"));
}

TEST(Exposition, IsAtOnePath) {
  EXPECT_EQ(many_series().answer({.method = "GET", .target = "/"}).status, 404);
  EXPECT_EQ(many_series().answer({.method = "GET", .target = "/metrics?x"}).status, 200);
}

TEST(ProcessMetrics, AreOfThisProcess) {
  Exposition exposition;
  exposition.add(write_process_metrics);
  const auto text = exposition.answer({.method = "GET", .target = "/metrics"}).body;
  const auto value = [&](const std::string& name) {
    const auto at = text.find("\n" + name + " ");
    return at == std::string::npos ? -1 : std::strtod(text.c_str() + at + name.size() + 2, nullptr);
  };
  EXPECT_GT(value("process_resident_memory_bytes"), 1e6);
  EXPECT_GT(value("process_open_fds"), 2);
  EXPECT_GE(value("process_max_fds"), value("process_open_fds"));
  EXPECT_GT(value("process_start_time_seconds"), 1.7e9);
  EXPECT_GE(value("process_cpu_seconds_total"), 0);
  EXPECT_GE(value("process_network_receive_bytes_total"), 0);
  EXPECT_GE(value("go_threads"), 1);
  // What is allocated is of what was taken from the system; sanitizers' heaps say nothing.
  EXPECT_GE(value("go_memstats_heap_sys_bytes"), value("go_memstats_alloc_bytes"));
  EXPECT_LE(value("go_memstats_sys_bytes"), value("process_virtual_memory_bytes"));
}

}  // namespace
}  // namespace manta::operator_

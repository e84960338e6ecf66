#include "operator/metrics/exposition.h"

#include <zlib.h>

namespace manta::operator_ {
namespace {

constexpr std::size_t kWorthIt = 4 << 10;  // what fits a packet or two stays as it is
constexpr int kGzipWindow = 15 + 16;       // zlib's way to ask for gzip's header

}  // namespace

std::optional<std::string> gzip(std::string_view text) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    return std::nullopt;
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const bool done = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return done ? std::optional(std::move(out)) : std::nullopt;
}

HttpAnswer Exposition::answer(const ServedRequest& request) const {
  if (request.path() != "/metrics") return {.status = 404, .body = "404 page not found\n"};
  const auto format = accepted_format(request.header("accept"));
  MetricsPage page(format);
  for (const auto& source : sources_) source(page);
  HttpAnswer answer{.content_type = std::string(content_type_of(format)),
                    .body = std::move(page).finish()};
  const bool may = request.header("accept-encoding").find("gzip") != std::string_view::npos;
  if (!may || answer.body.size() < kWorthIt) return answer;
  if (auto packed = gzip(answer.body)) {
    answer.body = std::move(*packed);
    answer.content_encoding = "gzip";
  }
  return answer;
}

}  // namespace manta::operator_

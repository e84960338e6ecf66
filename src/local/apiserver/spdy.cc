#include "local/apiserver/spdy.h"

#include "fmt/format.h"

#include <zlib.h>

#include <cstdlib>

namespace manta::local {
namespace {

void put32(std::string& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>((value >> shift) & 0xff);
}
std::uint32_t get32(std::string_view data) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(data[i]);
  return value;
}

/// The compression dictionary of SPDY/3: common names with their lengths, then common values.
std::string dictionary() {
  static constexpr std::string_view kNames[] = {"options",
                                                "head",
                                                "post",
                                                "put",
                                                "delete",
                                                "trace",
                                                "accept",
                                                "accept-charset",
                                                "accept-encoding",
                                                "accept-language",
                                                "accept-ranges",
                                                "age",
                                                "allow",
                                                "authorization",
                                                "cache-control",
                                                "connection",
                                                "content-base",
                                                "content-encoding",
                                                "content-language",
                                                "content-length",
                                                "content-location",
                                                "content-md5",
                                                "content-range",
                                                "content-type",
                                                "date",
                                                "etag",
                                                "expect",
                                                "expires",
                                                "from",
                                                "host",
                                                "if-match",
                                                "if-modified-since",
                                                "if-none-match",
                                                "if-range",
                                                "if-unmodified-since",
                                                "last-modified",
                                                "location",
                                                "max-forwards",
                                                "pragma",
                                                "proxy-authenticate",
                                                "proxy-authorization",
                                                "range",
                                                "referer",
                                                "retry-after",
                                                "server",
                                                "te",
                                                "trailer",
                                                "transfer-encoding",
                                                "upgrade",
                                                "user-agent",
                                                "vary",
                                                "via",
                                                "warning",
                                                "www-authenticate",
                                                "method",
                                                "get",
                                                "status",
                                                "200 OK",
                                                "version",
                                                "HTTP/1.1",
                                                "url",
                                                "public",
                                                "set-cookie",
                                                "keep-alive",
                                                "origin"};
  std::string text;
  for (const auto name : kNames) {
    put32(text, static_cast<std::uint32_t>(name.size()));
    text += name;
  }
  text +=
      "10010120120220520630030230330430530630740240540640740840941041141241341441541641750250450520"
      "3 Non-Authoritative "
      "Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 "
      "Forbidden404 Not Found500 Internal "
      "Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept "
      "Oct Nov Dec 00:00:00 Mon, "
      "Tue, Wed, Thu, Fri, Sat, Sun, "
      "GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,"
      "text/plain,text/"
      "javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq="
      "0.";
  return text;
}

unsigned char* bytes(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

}  // namespace

struct SpdyHeaders::Impl {
  z_stream in = {}, out = {};
  std::string dictionary_text = dictionary();
};

SpdyHeaders::SpdyHeaders() : impl_(std::make_unique<Impl>()) {
  inflateInit(&impl_->in);
  deflateInit(&impl_->out, Z_DEFAULT_COMPRESSION);
  deflateSetDictionary(&impl_->out, bytes(impl_->dictionary_text),
                       static_cast<uInt>(impl_->dictionary_text.size()));
}
SpdyHeaders::~SpdyHeaders() {
  inflateEnd(&impl_->in);
  deflateEnd(&impl_->out);
}

std::optional<std::map<std::string, std::string>> SpdyHeaders::read(std::string_view block) {
  std::string input(block), plain;
  auto& stream = impl_->in;
  stream.next_in = bytes(input);
  stream.avail_in = static_cast<uInt>(input.size());
  char buffer[4096];
  while (true) {
    stream.next_out = reinterpret_cast<unsigned char*>(buffer);
    stream.avail_out = sizeof buffer;
    const int code = inflate(&stream, Z_SYNC_FLUSH);
    if (code == Z_NEED_DICT) {
      // Of another dictionary zlib would ask again and again.
      if (inflateSetDictionary(&stream, bytes(impl_->dictionary_text),
                               static_cast<uInt>(impl_->dictionary_text.size())) != Z_OK)
        return std::nullopt;
      continue;
    }
    if (code != Z_OK && code != Z_BUF_ERROR) return std::nullopt;
    plain.append(buffer, sizeof buffer - stream.avail_out);
    if (plain.size() > (1 << 20)) return std::nullopt;
    if (stream.avail_in == 0 && stream.avail_out != 0) break;
    if (code == Z_BUF_ERROR) break;
  }
  std::string_view rest = plain;
  auto number = [&]() -> std::optional<std::uint32_t> {
    if (rest.size() < 4) return std::nullopt;
    const auto value = get32(rest);
    rest.remove_prefix(4);
    return value;
  };
  auto text = [&]() -> std::optional<std::string> {
    const auto size = number();
    if (!size || rest.size() < *size) return std::nullopt;
    std::string value(rest.substr(0, *size));
    rest.remove_prefix(*size);
    return value;
  };
  const auto count = number();
  if (!count) return std::nullopt;
  std::map<std::string, std::string> headers;
  for (std::uint32_t i = 0; i < *count; ++i) {
    auto name = text();
    auto value = text();
    if (!name || !value) return std::nullopt;
    headers[*name] = *value;
  }
  return headers;
}

std::string SpdyHeaders::write(const std::map<std::string, std::string>& headers) {
  std::string plain;
  put32(plain, static_cast<std::uint32_t>(headers.size()));
  for (const auto& [name, value] : headers) {
    put32(plain, static_cast<std::uint32_t>(name.size()));
    plain += name;
    put32(plain, static_cast<std::uint32_t>(value.size()));
    plain += value;
  }
  auto& stream = impl_->out;
  stream.next_in = bytes(plain);
  stream.avail_in = static_cast<uInt>(plain.size());
  std::string out;
  char buffer[4096];
  do {
    stream.next_out = reinterpret_cast<unsigned char*>(buffer);
    stream.avail_out = sizeof buffer;
    deflate(&stream, Z_SYNC_FLUSH);
    out.append(buffer, sizeof buffer - stream.avail_out);
  } while (stream.avail_out == 0);
  return out;
}

namespace {

constexpr std::uint16_t kSynStream = 1, kSynReply = 2, kRstStream = 3, kPing = 6, kGoAway = 7;
constexpr unsigned char kFin = 1;
constexpr std::size_t kMaxStreams = 4096;  // open at once in one tunnel

std::string control(std::uint16_t type, unsigned char flags, std::string body) {
  std::string frame;
  put32(frame, 0x80030000u | type);
  put32(frame, static_cast<std::uint32_t>(flags) << 24 | static_cast<std::uint32_t>(body.size()));
  return frame + body;
}
std::string data_frame(std::uint32_t id, unsigned char flags, std::string_view data) {
  std::string frame;
  put32(frame, id);
  put32(frame, static_cast<std::uint32_t>(flags) << 24 | static_cast<std::uint32_t>(data.size()));
  return frame + std::string(data);
}

/// One tunnel.
class SpdyForward : public std::enable_shared_from_this<SpdyForward> {
 public:
  SpdyForward(std::shared_ptr<const SessionContext> context, std::shared_ptr<WebSocket> socket,
              ContainerTarget target)
      : context_(std::move(context)), socket_(std::move(socket)), target_(std::move(target)) {}

  Task<void> run() {
    auto self = shared_from_this();
    std::string buffer;
    while (auto message = co_await socket_->read()) {
      buffer += *message;
      std::size_t used = 0;  // there may be many small frames in it
      while (buffer.size() - used >= 8) {
        const auto size = get32(std::string_view(buffer).substr(used + 4)) & 0xffffff;
        if (buffer.size() - used < 8 + size) break;
        std::string frame = buffer.substr(used, 8 + size);
        used += 8 + size;
        if (!co_await take(std::move(frame))) co_return finish();
      }
      buffer.erase(0, used);
    }
    finish();
  }

 private:
  struct Connection {
    std::uint32_t data = 0, error = 0;
    std::uint16_t port = 0;
  };

  void finish() {
    gone_.request_stop();
    for (auto& [id, input] : inputs_) input.close();
  }

  Task<bool> take(std::string frame) {
    const auto head = get32(frame);
    const auto flags = static_cast<unsigned char>(frame[4]);
    const std::string_view body = std::string_view(frame).substr(8);
    if (!(head & 0x80000000u)) {
      auto input = inputs_.find(head & 0x7fffffffu);
      if (input == inputs_.end()) co_return true;
      if (!body.empty()) input->second.push(std::string(body));
      if (flags & kFin) input->second.close();
      co_return true;
    }
    switch (head & 0xffff) {
      case kSynStream:
        co_return co_await open(body);
      case kPing:
        co_return co_await socket_->send(control(kPing, 0, std::string(body)));
      case kRstStream:
        if (body.size() >= 4)
          if (auto input = inputs_.find(get32(body)); input != inputs_.end()) input->second.close();
        co_return true;
      case kGoAway:
        co_return false;
      default:
        co_return true;  // settings and window updates: nothing here waits for them
    }
  }

  Task<bool> open(std::string_view body) {
    if (body.size() < 10) co_return false;
    const auto id = get32(body) & 0x7fffffffu;
    const auto headers = headers_.read(body.substr(10));
    if (!headers || inputs_.contains(id) || connections_.size() + inputs_.size() > kMaxStreams)
      co_return false;
    std::string reply;
    put32(reply, id);
    if (!co_await socket_->send(control(kSynReply, 0, reply + headers_.write({})))) co_return false;
    auto value = [&](const char* name) {
      auto found = headers->find(name);
      return found == headers->end() ? std::string() : found->second;
    };
    const auto request = value("requestid");
    auto& connection = connections_[request];
    connection.port = static_cast<std::uint16_t>(std::atoi(value("port").c_str()));
    if (value("streamtype") == "error")
      connection.error = id;
    else {
      connection.data = id;
      inputs_.emplace(id, Channel<std::string>(context_->loop));
    }
    if (!connection.data || !connection.error) co_return true;
    // Whole: a third stream of the same request begins another.
    const auto whole = connection;
    connections_.erase(request);
    if (const auto input = inputs_.find(whole.data); input != inputs_.end())
      forward(shared_from_this(), whole, input->second);
    co_return true;
  }

  static task_detail::Detached forward(std::shared_ptr<SpdyForward> self, Connection connection,
                                       Channel<std::string> input) {
    auto send = [self, id = connection.data](std::string data) -> Task<bool> {
      return self->socket_->send(data_frame(id, 0, data));
    };
    auto result = co_await self->context_->api.pod_backend()->forward(
        self->target_, connection.port, {input, send}, self->gone_.get_token());
    if (!result)
      co_await self->socket_->send(
          data_frame(connection.error, 0,
                     fmt::format("error forwarding port {} to pod {}: {}", connection.port,
                                 self->target_.pod, result.error().message)));
    co_await self->socket_->send(data_frame(connection.error, kFin, ""));
    co_await self->socket_->send(data_frame(connection.data, kFin, ""));
    self->inputs_.erase(connection.data);
  }

  std::shared_ptr<const SessionContext> context_;
  std::shared_ptr<WebSocket> socket_;
  ContainerTarget target_;
  SpdyHeaders headers_ = {};
  std::map<std::string, Connection> connections_ = {};
  std::map<std::uint32_t, Channel<std::string>> inputs_ = {};
  std::stop_source gone_ = {};
};

}  // namespace

Task<void> serve_spdy_forward(std::shared_ptr<const SessionContext> context,
                              std::shared_ptr<WebSocket> socket, ContainerTarget target) {
  auto tunnel =
      std::make_shared<SpdyForward>(std::move(context), std::move(socket), std::move(target));
  co_await tunnel->run();
}

}  // namespace manta::local

#include "submitter/dashboard.h"

#include "base/utf8.h"
#include "kube/http1_parser.h"
#include "submitter/frames.h"

#include <random>

namespace manta::submitter {
namespace {

using namespace std::chrono_literals;

constexpr auto kTimeout = 10s;  // of a request and its whole answer
constexpr std::size_t kMaxAnswer = 4 << 20;
// A quiet job writes nothing for hours; a peer that is gone answers no ping.
constexpr auto kSilence = 30s;

std::string segment(std::string_view text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const unsigned char c : text) {
    const bool plain = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    if (plain)
      out += static_cast<char>(c);
    else
      out.append({'%', kHex[c >> 4], kHex[c & 15]});
  }
  return out;
}

std::uint32_t random_mask() {
  static std::random_device device;
  return device();
}

std::string random_key() {  // 16 bytes in base64: 22 characters and padding
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string key;
  for (int i = 0; i < 21; ++i) key += kDigits[random_mask() % 64];
  return key + "A==";
}

// Reads one answer's head and hands on what follows it.
struct HeadReader {
  std::string bytes = {};
  int status = 0;

  // True when the head is whole; `bytes` then holds the rest.
  Result<bool> feed(std::string_view more) {
    constexpr std::size_t kMaxHead = 64 << 10;
    bytes += more;
    const auto end = bytes.find("\r\n\r\n");
    if (end == std::string::npos) {
      if (bytes.size() > kMaxHead)
        return failed(ErrorCode::Internal, "the answer's head has no end");
      return false;
    }
    if (!bytes.starts_with("HTTP/1.") || bytes.size() < 12)
      return failed(ErrorCode::Internal, "the answer is not HTTP");
    status = std::atoi(bytes.c_str() + 9);
    bytes.erase(0, end + 4);
    return true;
  }
};

}  // namespace

std::string Dashboard::head(std::string_view method, const std::string& path) const {
  std::string text = std::string(method) + " " + target_.path + path +
                     " HTTP/1.1\r\nHost: " + target_.address() +
                     "\r\nUser-Agent: manta-submitter\r\n";
  if (!target_.token.empty()) text += "X-Ray-Authorization: Bearer " + target_.token + "\r\n";
  return text;
}

Result<Dashboard::Answer> Dashboard::ask(std::string_view method, const std::string& path,
                                         const std::string& body) {
  const auto deadline = in(kTimeout);
  auto connection = Connection::open(target_.host, target_.port, deadline);
  if (!connection) return std::unexpected(connection.error());
  auto request = head(method, path) + "Connection: close\r\n";
  if (method == "POST")
    request +=
        "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  if (auto sent = connection->send(request + "\r\n" + body, deadline); !sent)
    return std::unexpected(sent.error());

  Answer answer;
  bool too_large = false;
  kube::http::Http1Parser parser(
      {.on_head = [&](kube::HttpResponse response) { answer.status = response.status; },
       .on_body =
           [&](std::string_view piece) {
             too_large = answer.body.size() + piece.size() > kMaxAnswer;
             if (!too_large) answer.body += piece;
             return !too_large;
           }});
  parser.expect(false);
  while (!parser.is_complete()) {
    auto bytes = connection->receive(deadline);
    if (!bytes) return std::unexpected(bytes.error());
    if (bytes->empty()) {
      if (parser.end_of_stream()) break;
      return failed(ErrorCode::Unavailable, "Ray's dashboard closed the connection");
    }
    if (const auto fed = parser.feed(*bytes); !fed) return std::unexpected(fed.error());
    if (too_large) return failed(ErrorCode::TooLarge, "Ray's answer is larger than 4 MiB");
  }
  return answer;
}

Result<Dashboard::Submitted> Dashboard::submit(const Json& body) {
  auto answer = ask("POST", "/api/jobs/", dump_json(body));
  if (!answer) return std::unexpected(answer.error());
  if (answer->status == 500 &&
      answer->body.find("Please use a different submission_id") != std::string::npos)
    return Submitted{.job_id = target_.submission_id, .already = true};
  const auto fail = [&] {
    return failed(ErrorCode::Internal,
                  "SubmitJob fail: " + std::to_string(answer->status) + " " + answer->body);
  };
  if (answer->status < 200 || answer->status > 299) return fail();
  const auto reply = parse_json(mend_json_text(answer->body));
  if (!reply || !reply->is_object()) return fail();
  return Submitted{.job_id = std::string(string_at(*reply, {"job_id"}, target_.submission_id))};
}

Result<Dashboard::State> Dashboard::state(const std::string& job_id) {
  auto answer = ask("GET", "/api/jobs/" + segment(job_id), "");
  if (!answer) return std::unexpected(answer.error());
  if (answer->status == 404)
    return failed(ErrorCode::NotFound, "Job " + job_id + " does not exist on the cluster");
  const auto reply = parse_json(mend_json_text(answer->body));
  if (answer->status != 200 || !reply || string_at(*reply, {"status"}).empty())
    return failed(ErrorCode::Internal,
                  "GetJobInfo fail: " + std::to_string(answer->status) + " " + answer->body);
  return State{.status = std::string(string_at(*reply, {"status"})),
               .message = std::string(string_at(*reply, {"message"}))};
}

Result<bool> Dashboard::tail(const std::string& job_id,
                             const std::function<void(std::string_view)>& sink) {
  auto connection = Connection::open(target_.host, target_.port, in(kTimeout));
  if (!connection) return std::unexpected(connection.error());
  const auto request = head("GET", "/api/jobs/" + segment(job_id) + "/logs/tail") +
                       "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: "
                       "13\r\nSec-WebSocket-Key: " +
                       random_key() + "\r\n\r\n";
  if (auto sent = connection->send(request, in(kTimeout)); !sent)
    return std::unexpected(sent.error());

  HeadReader answer;
  for (bool whole = false; !whole;) {
    auto bytes = connection->receive(in(kTimeout));
    if (!bytes) return std::unexpected(bytes.error());
    if (bytes->empty())
      return failed(ErrorCode::Unavailable, "Ray's dashboard closed the connection");
    const auto fed = answer.feed(*bytes);
    if (!fed) return std::unexpected(fed.error());
    whole = *fed;
  }
  if (answer.status != 101)
    return failed(answer.status == 404 ? ErrorCode::NotFound : ErrorCode::Internal,
                  "tailing the log: status " + std::to_string(answer.status));

  std::optional<std::uint16_t> closed;
  std::string pong;
  FrameReader frames(
      {.on_data = sink,
       .on_ping =
           [&](std::string_view data) { pong += client_frame(Opcode::Pong, data, random_mask()); },
       .on_close = [&](std::uint16_t code) { closed = code; }});
  if (auto fed = frames.feed(answer.bytes); !fed) return std::unexpected(fed.error());
  bool pinged = false;
  while (!closed) {
    if (!pong.empty())
      if (auto sent = connection->send(std::exchange(pong, {}), in(kTimeout)); !sent)
        return std::unexpected(sent.error());
    auto bytes = connection->receive(in(kSilence));
    if (!bytes && bytes.error().code == ErrorCode::Timeout && !pinged) {
      pinged = true;
      pong = client_frame(Opcode::Ping, {}, random_mask());
      continue;
    }
    if (!bytes) return std::unexpected(bytes.error());
    if (bytes->empty()) return false;
    pinged = false;
    if (auto fed = frames.feed(*bytes); !fed) return std::unexpected(fed.error());
  }
  constexpr std::uint16_t kNormal = 1000;
  if (auto sent =
          connection->send(client_frame(Opcode::Close, "\x03\xe8", random_mask()), in(kTimeout));
      !sent)
    return closed == kNormal;  // it has gone already
  return closed == kNormal;
}

}  // namespace manta::submitter

// HTTP/1.1 responses: how the network cuts the bytes makes no difference, and what a well-formed
// response holds arrives.
#include "fuzz/fuzz.h"
#include "kube/http1_parser.h"

using namespace manta;
using namespace manta::fuzz;
using kube::HttpResponse;
using kube::http::Http1Parser;

struct Outcome {
  std::vector<HttpResponse> heads = {};
  std::string body = {};
  std::string error = {};
  std::size_t used = 0;
  bool complete = false, keeps_alive = false, ended = false;

  std::string text() const {
    auto out = error + "|" + std::to_string(used) + (complete ? "c" : "-") +
               (keeps_alive ? "k" : "-") + (ended ? "e" : "-") + "|" + body;
    for (const auto& head : heads) {
      out += "|" + std::to_string(head.status);
      for (const auto& [name, value] : head.headers) out += ";" + name + "=" + value;
    }
    return out;
  }
};

// `piece` says how many bytes come next.
template <class Piece>
static Outcome parse(std::string_view bytes, bool is_head, Piece piece) {
  Outcome outcome;
  Http1Parser parser(
      {.on_head = [&](HttpResponse head) { outcome.heads.push_back(std::move(head)); },
       .on_body =
           [&](std::string_view part) {
             outcome.body += part;
             return true;
           }});
  parser.expect(is_head);
  while (outcome.used < bytes.size() && !parser.is_complete()) {
    const auto size = std::min(std::max<std::size_t>(piece(), 1), bytes.size() - outcome.used);
    const auto used = parser.feed(bytes.substr(outcome.used, size));
    if (!used) {
      outcome.error = used.error().message;
      return outcome;
    }
    FUZZ_CHECK(*used <= size, bytes);
    FUZZ_CHECK(*used == size || parser.is_complete(), bytes);
    outcome.used += *used;
  }
  outcome.complete = parser.is_complete();
  outcome.keeps_alive = parser.keeps_alive();
  if (!outcome.complete) outcome.ended = parser.end_of_stream();
  return outcome;
}

static void check_cuts(std::string_view bytes, bool is_head, Input& in) {
  const auto whole = parse(bytes, is_head, [&] { return bytes.size(); });
  const auto single = parse(bytes, is_head, [] { return std::size_t{1}; });
  const auto some = parse(bytes, is_head, [&] { return in.number<std::size_t>(1, 40); });
  // A failing feed does not say how far it came, and may have handed on what came before.
  if (whole.error.empty()) {
    FUZZ_CHECK(single.text() == whole.text(), bytes, single.text(), whole.text());
    FUZZ_CHECK(some.text() == whole.text(), bytes, some.text(), whole.text());
  } else {
    FUZZ_CHECK(single.error == whole.error, bytes, single.error, whole.error);
    FUZZ_CHECK(some.error == whole.error, bytes, some.error, whole.error);
    FUZZ_CHECK(single.body == whole.body && some.body == whole.body, bytes);
  }
  FUZZ_CHECK(whole.heads.size() <= 1, bytes);
}

static void check_well_formed(Input& in) {
  std::string body, bytes;
  for (int n = in.number(0, 2); n > 0; --n) bytes += "HTTP/1.1 100 Continue\r\nA: b\r\n\r\n";
  const bool chunked = in.flag(), closes = in.rarely(3), lone_breaks = in.rarely(3);
  const std::string_view end = lone_breaks ? "\n" : "\r\n";
  bytes += "HTTP/1.1 200 OK" + std::string(end);
  if (closes) bytes += "Connection: close" + std::string(end);
  if (chunked) {
    bytes += "Transfer-Encoding: chunked" + std::string(end) + std::string(end);
    for (int n = in.number(0, 4); n > 0; --n) {
      const auto part = in.bytes(60);
      if (part.empty()) continue;  // a chunk of size 0 is the last
      char size[16];
      std::snprintf(size, sizeof size, in.flag() ? "%zx" : "%zX", part.size());
      bytes += size + std::string(in.one_of({"", ";a=b", " "})) + std::string(end) + part +
               std::string(end);
      body += part;
    }
    bytes += "0" + std::string(end);
    if (in.flag()) bytes += "Trailer: x" + std::string(end);
    bytes += end;
  } else {
    body = in.bytes(80);
    bytes += "content-length:" + std::to_string(body.size()) + std::string(end) + std::string(end);
    bytes += body;
  }
  const auto length = bytes.size();
  bytes += "HTTP/1.1 404 the next";
  const auto outcome = parse(bytes, false, [&] { return in.number<std::size_t>(1, 40); });
  FUZZ_CHECK(outcome.error.empty() && outcome.complete, bytes, outcome.error);
  FUZZ_CHECK(outcome.body == body, bytes, outcome.body);
  FUZZ_CHECK(outcome.used == length, bytes, std::to_string(outcome.used));
  FUZZ_CHECK(outcome.keeps_alive == !closes, bytes);
  FUZZ_CHECK(outcome.heads.size() == 1 && outcome.heads[0].status == 200, bytes);
}

FUZZ(data) {
  Input in(data);
  check_cuts(data, !data.empty() && data[0] == 'h', in);
  Input choices(data);
  check_well_formed(choices);
  // Lines that mean something, in any order.
  std::string lines;
  for (int n = choices.number(0, 12); n > 0; --n)
    lines += std::string(choices.one_of(
                 {"HTTP/1.1 200 OK", "HTTP/1.0 200 OK", "HTTP/1.1 100 C", "HTTP/1.1 204 N", "",
                  "Content-Length: 3", "Content-Length: 5", "Transfer-Encoding: chunked", "3", "0",
                  "abc", "ffffffffffffffff", "5;x", "Connection: keep-alive", "A: b", " c"})) +
             std::string(choices.one_of({"\r\n", "\n", "\r"}));
  check_cuts(lines, choices.flag(), choices);
}

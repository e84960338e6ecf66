// What others send to the API server: HTTP requests, however the network cuts them.
#include "base/virtual_loop.h"
#include "fuzz/cuts.h"
#include "fuzz/fuzz.h"
#include "fuzz/pieces.h"
#include "local/apiserver/http_request.h"
#include "local/apiserver/http_request_reader.h"
#include "local/apiserver/protobuf.h"

#include <functional>

using namespace manta;
using namespace manta::fuzz;
using namespace manta::local;

static std::string shown(const RequestReader& reader) {
  auto out = reader.request.method + " " + reader.request.target;
  for (const auto& [name, value] : reader.request.headers) out += ";" + name + "=" + value;
  return out + " " + reader.request.body + (reader.keep_alive ? "|" : "|close|");
}

// Every request in the bytes, then how it ended.
static std::string read_all(std::string_view bytes, std::function<std::size_t()> size) {
  VirtualLoop loop;
  BufferedReader buffered(std::make_shared<Pieces>(bytes, std::move(size)));
  std::string out;
  while (true) {
    RequestReader reader(buffered);
    auto end = loop.run(reader.read_head(loop));
    if (end == ReadEnd::Request) end = loop.run(reader.read_body(loop));
    if (end == ReadEnd::Bad || end == ReadEnd::TooLarge) FUZZ_CHECK(!reader.problem.empty(), bytes);
    if (end != ReadEnd::Request) return out + "!" + std::to_string(static_cast<int>(end));
    const auto& request = reader.request;
    FUZZ_CHECK(request.target.starts_with('/'), bytes);
    FUZZ_CHECK(request.target.find_first_of(" \r\n") == std::string::npos, bytes);
    for (const auto& [name, value] : request.headers) {
      FUZZ_CHECK(name.find_first_of(" \t\r\n:") == std::string::npos, bytes);
      FUZZ_CHECK(value.find_first_of("\r\n") == std::string::npos, bytes);
    }
    // One body, one end of it.
    FUZZ_CHECK(!(request.headers.contains("content-length") &&
                 request.headers.contains("transfer-encoding")),
               bytes);
    if (const auto length = header(request, "content-length"); !length.empty())
      FUZZ_CHECK(std::stoull(length) == request.body.size(), bytes);
    out += shown(reader);
  }
}

// A well-formed request arrives whole, and not a byte of the next.
static void check_well_formed(Input& in) {
  const auto body = in.bytes(90);
  std::string bytes = std::string(in.one_of({"POST", "PUT", "PATCH"})) + " /a?b=c HTTP/1.1\r\n";
  if (in.flag()) bytes += "Host: x\r\n";
  if (in.flag()) {
    bytes += "transfer-encoding: " + std::string(in.one_of({"chunked", "Chunked"})) + "\r\n\r\n";
    for (std::size_t at = 0; at < body.size();) {
      const auto size = in.number<std::size_t>(1, body.size() - at);
      bytes += std::string("0") + "123456789abcdef"[(size - 1) % 15] + "\r\n";
      const auto taken = (size - 1) % 15 + 1;
      bytes += body.substr(at, taken) + "\r\n";
      at += taken;
    }
    bytes += std::string(in.one_of({"0", "000", "0;a=b", "0 "})) + "\r\n" +
             std::string(in.one_of({"", "Trailer: x\r\n", "GET /evil HTTP/1.1\r\n"})) + "\r\n";
  } else {
    bytes += "Content-Length:" + std::string(in.one_of({"", " ", "\t"})) +
             std::to_string(body.size()) + "\r\n\r\n" + body;
  }
  VirtualLoop loop;
  const std::string next = "GET /next HTTP/1.1\r\n\r\n";
  BufferedReader buffered(
      std::make_shared<Pieces>(bytes += next, [&] { return in.number<std::size_t>(1, 200); }));
  RequestReader first(buffered), second(buffered);
  FUZZ_CHECK(loop.run(first.read_head(loop)) == ReadEnd::Request, bytes, first.problem);
  FUZZ_CHECK(loop.run(first.read_body(loop)) == ReadEnd::Request, bytes, first.problem);
  FUZZ_CHECK(first.request.body.starts_with(body), bytes, first.request.body);
  FUZZ_CHECK(first.request.body.size() == body.size(), bytes, first.request.body);
  FUZZ_CHECK(loop.run(second.read_head(loop)) == ReadEnd::Request, bytes, second.problem);
  FUZZ_CHECK(second.request.target == "/next", bytes, second.request.target);
}

FUZZ(data) {
  Input in(data);
  check_cuts(data, in, read_all);

  Input choices(data);
  check_well_formed(choices);
  std::string lines;
  for (int n = choices.number(0, 12); n > 0; --n)
    lines += std::string(choices.one_of({"GET / HTTP/1.1",
                                         "POST /x HTTP/1.0",
                                         "",
                                         "Content-Length: 3",
                                         "Content-Length: 5",
                                         "Transfer-Encoding: chunked",
                                         "Transfer-Encoding: gzip",
                                         "Connection: close",
                                         "Expect: 100-continue",
                                         "A: b",
                                         "a : b",
                                         " folded",
                                         "abc",
                                         "3",
                                         "0",
                                         "0;x",
                                         "ffffffffffffffff",
                                         "fffffffffffffffff",
                                         "400000",
                                         "Content-Length: 99999999999999999999"})) +
             std::string(choices.one_of({"\r\n", "\r\n", "\r\n", "\n", "\r"}));
  check_cuts(lines, choices, read_all);

  // What the rest of a request says.
  HttpRequest request{
      .headers = {{"accept", choices.text(60)}, {"content-type", choices.text(60)}}};
  (void)read_accept(header(request, "accept"));
  (void)patch_type(media_type(header(request, "content-type")));
  const auto target = split_target(choices.bytes(80));
  for (const auto& segment : target.segments) FUZZ_CHECK(!segment.empty(), data);
  static BuiltinTypes types;
  request.body = std::string(kProtobufMagic) + choices.rest();
  request.headers["content-type"] = "application/vnd.kubernetes.protobuf";
  if (const auto body = read_body(request, types); !body)
    FUZZ_CHECK(!body.error().message.empty(), data);
  request.body = data;
  for (const auto* type : {"application/json", "application/yaml"}) {
    request.headers["content-type"] = type;
    (void)read_body(request, types);
  }
}

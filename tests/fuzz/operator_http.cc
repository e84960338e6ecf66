// What others send to the operator's servers: HTTP requests, and reviews of the API server's.
#include "fuzz/cuts.h"
#include "fuzz/fuzz.h"
#include "operator/http/http_request.h"
#include "operator/metrics/page.h"
#include "operator/webhooks/admission.h"

using namespace manta;
using namespace manta::fuzz;
using namespace manta::operator_;

// Every request in the bytes, then how it ended.
static std::string read_all(std::string_view bytes, const PieceSize& piece) {
  RequestReader reader({.head = 300, .body = 100});
  std::string out;
  std::size_t used = 0;
  while (true) {
    const auto request = reader.next();
    if (!request) return out + "!" + std::to_string(request.error().http_status);
    if (*request) {
      FUZZ_CHECK((*request)->target.starts_with('/'), bytes);
      FUZZ_CHECK((*request)->target.find_first_of(" \r\n") == std::string::npos, bytes);
      FUZZ_CHECK((*request)->body.size() <= 100, bytes);
      out += (*request)->method + " " + (*request)->target + " " + (*request)->body;
      for (const auto& [name, value] : (*request)->headers) {
        FUZZ_CHECK(value.find_first_of("\r\n") == std::string::npos, bytes);
        out += ";" + name + "=" + value;
      }
      out += (*request)->keep_alive ? "|" : "|close|";
      continue;
    }
    if (used == bytes.size()) return out + "…";
    const auto size = std::min(std::max<std::size_t>(piece(), 1), bytes.size() - used);
    reader.feed(bytes.substr(used, size));
    used += size;
  }
}

// A well-formed request arrives whole, and not a byte of the next.
static void check_well_formed(Input& in) {
  const auto body = in.bytes(90);
  std::string bytes = std::string(in.one_of({"GET", "POST", "PUT"})) + " /a HTTP/1.1\r\n";
  if (in.flag()) bytes += "Host: x\r\n";
  bytes += "content-length:" + std::string(in.one_of({"", " ", "\t"})) +
           std::to_string(body.size()) + "\r\n\r\n" + body;
  RequestReader reader({.head = 300, .body = 100});
  reader.feed(bytes + "GET /next");
  const auto request = reader.next();
  FUZZ_CHECK(request && *request, bytes);
  FUZZ_CHECK((*request)->body == body, bytes, (*request)->body);
  const auto rest = reader.next();
  FUZZ_CHECK(rest && !*rest, bytes);
}

// Whatever is asked, the answer is a review that allows or says why not.
static void check_review(std::string_view path, std::string_view body) {
  const auto answer = review_admission(path, "application/json", body);
  const auto* response = find(answer, {"response"});
  FUZZ_CHECK(response && string_at(answer, {"kind"}) == "AdmissionReview", body);
  const auto code = int_at(*response, {"status", "code"});
  if (bool_at(*response, {"allowed"})) return FUZZ_CHECK(code == 200, body);
  FUZZ_CHECK(code == 400 || code == 422, body, dump_json(answer));
  FUZZ_CHECK(!string_at(*response, {"status", "message"}).empty(), body);
}

FUZZ(data) {
  Input in(data);
  check_cuts(data, in, read_all);
  for (const auto& path : admission_paths()) check_review(path, data);

  Input choices(data);
  check_well_formed(choices);
  std::string lines;
  for (int n = choices.number(0, 10); n > 0; --n)
    lines += std::string(choices.one_of(
                 {"GET / HTTP/1.1", "POST /x HTTP/1.0", "", "Content-Length: 3",
                  "Content-Length: 5", "Transfer-Encoding: chunked", "Connection: close", "A: b",
                  "a : b", " folded", "abc", "Content-Length: 99999999999999999999"})) +
             std::string(choices.one_of({"\r\n", "\r\n", "\n", "\r"}));
  check_cuts(lines, choices, read_all);

  JsonObject object{{"apiVersion", "ray.io/v1"},
                    {"metadata", JsonObject{{"name", choices.text()}, {"namespace", "n"}}},
                    {"spec", choices.json(3)}};
  if (choices.flag()) object["metadata"].as_object()["annotations"] = choices.json(2);
  JsonObject review{{"apiVersion", "admission.k8s.io/v1"}, {"kind", "AdmissionReview"}};
  review["request"] =
      JsonObject{{"uid", choices.text()},
                 {"operation", choices.one_of({"CREATE", "UPDATE", "DELETE", "CONNECT", "?"})},
                 {"object", object},
                 {"oldObject", choices.flag() ? Json(object) : choices.json(2)}};
  const auto text = dump_json(review);
  for (const auto& path : admission_paths()) check_review(path, text);

  // A label's value, whatever it is, stays on its line and inside its quotes.
  const auto value = choices.text();
  const auto label = metric_labels({{"k", value}});
  FUZZ_CHECK(label.find('\n') == std::string::npos, value, label);
  (void)accepted_format(data);
}

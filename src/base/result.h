// Errors as values.
//
// `Result<T>` is what an operation that may fail returns; `Error` says what failed, why, and what
// the caller may do. No exception crosses a library's edge: code that calls a throwing library
// catches in the same file and returns an Error.
//
//   Result<int> parse_port(std::string_view text);
//   auto port = parse_port(text);
//   if (!port) return failed(port.error().in("reading flag --port"));
#pragma once

#include <chrono>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace manta {

/// Kinds of failure that callers tell apart. The Kubernetes API's Status reasons map onto these
/// one to one (kube/api_error.h); everything else uses the nearest.
enum class ErrorCode {
  Internal,          // our bug or the other side's; retry may help
  Invalid,           // the input breaks a rule; see causes. HTTP 422
  BadRequest,        // the input could not be read at all. HTTP 400
  NotFound,          // HTTP 404
  AlreadyExists,     // HTTP 409, reason AlreadyExists
  Conflict,          // HTTP 409: resourceVersion or uid precondition failed
  Expired,           // HTTP 410: the resourceVersion asked for is gone, list again
  Forbidden,         // HTTP 403
  Unauthorized,      // HTTP 401
  MethodNotAllowed,  // HTTP 405
  NotAcceptable,     // HTTP 406
  TooLarge,          // HTTP 413, or a limit of ours on what others send
  UnsupportedMedia,  // HTTP 415
  TooManyRequests,   // HTTP 429, may carry retry_after
  Timeout,           // no answer in time: a write MAY have been committed
  Unavailable,       // connection refused, reset, HTTP 503: a write MAY have been committed
  Cancelled,         // we stopped it ourselves
};

std::string_view to_string(ErrorCode code);

/// One field at fault: which, what is wrong and what is allowed.
struct FieldCause {
  std::string field = {};    // path as users write it: spec.workerGroupSpecs[0].groupName
  std::string reason = {};   // FieldValueInvalid, FieldValueRequired, …; may be empty
  std::string message = {};  // names the value and what is allowed
};

struct Error {
  ErrorCode code = ErrorCode::Internal;
  std::string message = {};
  std::vector<FieldCause> causes = {};
  int http_status = 0;  // 0 when no HTTP answer was had
  std::optional<std::chrono::milliseconds> retry_after = {};

  /// The same error seen from further out: "<what>: <message>".
  Error in(std::string_view what) const;
};

template <class T = void>
using Result = std::expected<T, Error>;

/// `return failed(ErrorCode::NotFound, "no such file");`
std::unexpected<Error> failed(ErrorCode code, std::string message);
std::unexpected<Error> failed(Error error);

[[noreturn]] void check_failed(const char* expression, const char* file, int line);

}  // namespace manta

/// Our own bug: prints the place and aborts. Never for what users or other programs send.
#define MANTA_CHECK(expression) \
  ((expression) ? void(0) : ::manta::check_failed(#expression, __FILE__, __LINE__))

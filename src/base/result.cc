#include "base/result.h"

#include <cstdio>
#include <cstdlib>

namespace manta {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::Internal:
      return "Internal";
    case ErrorCode::Invalid:
      return "Invalid";
    case ErrorCode::BadRequest:
      return "BadRequest";
    case ErrorCode::NotFound:
      return "NotFound";
    case ErrorCode::AlreadyExists:
      return "AlreadyExists";
    case ErrorCode::Conflict:
      return "Conflict";
    case ErrorCode::Expired:
      return "Expired";
    case ErrorCode::Forbidden:
      return "Forbidden";
    case ErrorCode::Unauthorized:
      return "Unauthorized";
    case ErrorCode::MethodNotAllowed:
      return "MethodNotAllowed";
    case ErrorCode::NotAcceptable:
      return "NotAcceptable";
    case ErrorCode::TooLarge:
      return "TooLarge";
    case ErrorCode::UnsupportedMedia:
      return "UnsupportedMedia";
    case ErrorCode::TooManyRequests:
      return "TooManyRequests";
    case ErrorCode::Timeout:
      return "Timeout";
    case ErrorCode::Unavailable:
      return "Unavailable";
    case ErrorCode::Cancelled:
      return "Cancelled";
  }
  return "Internal";
}

Error Error::in(std::string_view what) const {
  Error outer = *this;
  outer.message = std::string(what) + ": " + message;
  return outer;
}

std::unexpected<Error> failed(ErrorCode code, std::string message) {
  return std::unexpected(Error{.code = code, .message = std::move(message)});
}

std::unexpected<Error> failed(Error error) { return std::unexpected(std::move(error)); }

void check_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, expression);
  std::fflush(stderr);
  std::abort();
}

}  // namespace manta

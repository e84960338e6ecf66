#include "kube/api.h"

#include <gtest/gtest.h>

namespace manta::kube {
namespace {

TEST(StatusError, EveryCodeSurvivesTheWire) {
  for (const auto code :
       {ErrorCode::Internal, ErrorCode::Invalid, ErrorCode::BadRequest, ErrorCode::NotFound,
        ErrorCode::AlreadyExists, ErrorCode::Conflict, ErrorCode::Expired, ErrorCode::Forbidden,
        ErrorCode::Unauthorized, ErrorCode::MethodNotAllowed, ErrorCode::NotAcceptable,
        ErrorCode::TooLarge, ErrorCode::UnsupportedMedia, ErrorCode::TooManyRequests,
        ErrorCode::Timeout, ErrorCode::Unavailable}) {
    Error error{.code = code, .message = "why", .retry_after = std::chrono::milliseconds{1500}};
    error.causes = {{.field = "spec.x", .reason = "FieldValueInvalid", .message = "bad"}};
    const auto status = status_from_error(error, kPods, "a");
    const auto back = error_from_status(http_status_of(code), status);
    EXPECT_EQ(back.code, code) << to_string(code);
    EXPECT_EQ(back.message, "why");
    ASSERT_EQ(back.causes.size(), 1u);
    EXPECT_EQ(back.causes[0].field, "spec.x");
    EXPECT_EQ(back.retry_after, std::chrono::milliseconds{2000});
    EXPECT_EQ(int_at(status, {"code"}), http_status_of(code));
    EXPECT_EQ(string_at(status, {"details", "kind"}), code == ErrorCode::Invalid ? "Pod" : "pods");
  }
}

TEST(StatusError, WithoutReasonTheHttpStatusDecides) {
  const std::pair<int, ErrorCode> rows[] = {
      {400, ErrorCode::BadRequest},  {404, ErrorCode::NotFound},    {409, ErrorCode::Conflict},
      {410, ErrorCode::Expired},     {418, ErrorCode::BadRequest},  {500, ErrorCode::Internal},
      {502, ErrorCode::Unavailable}, {503, ErrorCode::Unavailable}, {504, ErrorCode::Timeout},
      {599, ErrorCode::Internal}};
  for (const auto& [status, code] : rows)
    EXPECT_EQ(error_from_status(status, Json(nullptr)).code, code) << status;
  EXPECT_EQ(error_from_status(0, parse_json(R"({"code":410,"reason":"Expired"})").value()).code,
            ErrorCode::Expired);
}

}  // namespace
}  // namespace manta::kube

// A watch stream's lines as events. Internal to the API client.
#pragma once

#include "kube/api.h"

#include <string>
#include <string_view>

namespace manta::kube {

class WatchDecoder {
 public:
  WatchDecoder(Api::WatchSink sink, std::size_t max_event_bytes)
      : sink_(std::move(sink)), max_event_bytes_(max_event_bytes) {}

  /// Hands on every event that is complete. Fails with the error of an ERROR event, or on a line
  /// that is no event or larger than the limit.
  Result<void> feed(std::string_view bytes);

 private:
  Result<void> take_line(std::string_view line);

  Api::WatchSink sink_;
  std::size_t max_event_bytes_;
  std::string pending_ = {};  // the beginning of a line
};

}  // namespace manta::kube

#include "kube/http_api_watch.h"

#include <fmt/format.h>

namespace manta::kube {

Result<void> WatchDecoder::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    const auto piece = bytes.substr(0, end);
    if (pending_.size() + piece.size() > max_event_bytes_)
      return failed(ErrorCode::TooLarge,
                    fmt::format("a watch event is larger than {} bytes", max_event_bytes_));
    if (end == std::string_view::npos) {
      pending_.append(piece);
      return {};
    }
    bytes.remove_prefix(end + 1);
    Result<void> taken;
    if (pending_.empty()) {
      taken = take_line(piece);
    } else {
      pending_.append(piece);
      taken = take_line(pending_);
      // One large event must not keep its memory for the stream's life.
      pending_ = std::string();
    }
    if (!taken) return taken;
  }
  return {};
}

Result<void> WatchDecoder::take_line(std::string_view line) {
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return {};
  auto event = parse_json(line);
  if (!event) return failed(event.error().in("watch event"));
  auto* object = event->is_object() ? event->get_object().if_contains("object") : nullptr;
  const auto type = string_at(*event, {"type"});
  if (!object)
    return failed(ErrorCode::Internal,
                  fmt::format("watch event of type {:?} without object", type));
  if (type == "ERROR") return failed(error_from_status(0, *object));
  WatchEvent out;
  if (type == "ADDED")
    out.type = WatchEventType::Added;
  else if (type == "MODIFIED")
    out.type = WatchEventType::Modified;
  else if (type == "DELETED")
    out.type = WatchEventType::Deleted;
  else if (type == "BOOKMARK")
    out.type = WatchEventType::Bookmark;
  else
    return failed(ErrorCode::Internal, fmt::format("watch event of unknown type {:?}", type));
  out.object = std::move(*object);
  sink_(std::move(out));
  return {};
}

}  // namespace manta::kube

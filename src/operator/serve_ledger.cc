#include "operator/serve_ledger.h"

#include <utility>

namespace manta::operator_ {

Task<Result<Json>> ServeLedger::call(std::string target, Json request) {
  const auto op = std::string(string_at(request, {"op"}));
  if (op != "update-serve" && op != "serve-details")
    co_return co_await outside_.call(std::move(target), std::move(request));
  const auto host = std::string(string_at(request, {"host"}));
  auto answer = co_await outside_.call(std::move(target), request);
  if (!answer) co_return answer;
  if (op == "update-serve")
    note(host, request);
  else
    tell(host, *answer);
  co_return answer;
}

void ServeLedger::note(std::string host, const Json& request) {
  if (const auto known = by_host_.find(host); known != by_host_.end()) {
    entries_.erase(known->second);
    by_host_.erase(known);
  }
  const auto* config = find(request, {"config"});
  entries_.push_front({.host = host,
                       .config = config ? *config : Json(),
                       .head = std::string(string_at(request, {"head"})),
                       .at = loop_.now()});
  by_host_[std::move(host)] = entries_.begin();
  if (entries_.size() <= kept_) return;
  by_host_.erase(entries_.back().host);
  entries_.pop_back();
}

void ServeLedger::tell(const std::string& host, Json& answer) {
  const auto known = by_host_.find(host);
  if (known == by_host_.end() || !answer.is_object()) return;
  Entry& entry = *known->second;
  if (!object_at(answer, {"applications"}).empty()) entry.listed = true;
  answer.as_object()["submitted"] = JsonObject{{"config", entry.config},
                                               {"head", entry.head},
                                               {"at", entry.at.time_since_epoch().count()},
                                               {"listed", entry.listed}};
}

}  // namespace manta::operator_

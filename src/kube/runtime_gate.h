// Bounds how much is in flight, fairly: in all and per queue, round robin over the queues.
#pragma once

#include "base/async.h"

#include <deque>

namespace manta::kube {

/// Each object has a Queue. 500 waiters of one never delay the first of another by more than one
/// turn.
///
///   co_await gate.enter(queue);
///   …
///   gate.leave(queue);
class FairGate {
 public:
  struct Queue {
    int in_flight = 0;
    bool listed = false;  // in turns_
    std::deque<OneShot<bool>> waiting = {};
  };

  FairGate(Loop& loop, int in_all, int per_queue)
      : loop_(loop), in_all_(in_all), per_queue_(per_queue) {}

  /// The queue must outlive everything that waits in it.
  Task<void> enter(Queue& queue);
  void leave(Queue& queue);
  int in_flight() const { return in_flight_; }

 private:
  void list(Queue& queue);
  void grant();

  Loop& loop_;
  int in_all_;
  int per_queue_;
  int in_flight_ = 0;
  std::deque<Queue*> turns_ = {};  // queues with waiters and room of their own
};

}  // namespace manta::kube

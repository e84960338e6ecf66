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
///
/// What is to enter costs memory while it waits: co_await gate.room() before it is made, and
/// planned() when it has been.
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
  /// Waits until fewer queues wait for a turn than there may be in flight; in the order of the
  /// calls.
  Task<void> room();
  void planned();
  int in_flight() const { return in_flight_; }

 private:
  void list(Queue& queue);
  void grant();
  void call_in();

  Loop& loop_;
  int in_all_;
  int per_queue_;
  int in_flight_ = 0;
  int planning_ = 0;
  std::deque<OneShot<bool>> outside_ = {};  // wait for room
  std::deque<Queue*> turns_ = {};           // queues with waiters and room of their own
};

}  // namespace manta::kube
